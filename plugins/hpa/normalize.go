package hpa

import (
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// recommendation is what metrics asked for at some time, before any limit.
type recommendation struct {
	replicas int32
	at       time.Time
}

// scaling is one change of size, in pods up or down.
type scaling struct {
	change int32
	at     time.Time
}

// advice is a size on its way through the limits, with the word and the
// sentence for what became of it.
type advice struct {
	replicas        int32
	reason, message string
}

const (
	withinRange        = "DesiredWithinRange"
	withinRangeMessage = "the desired count is within the acceptable range"
)

// note remembers a recommendation, in the place of the last one that is too
// old to matter where there is one.
func (m *memory) note(replicas int32, now time.Time, old func(recommendation) bool) {
	place := -1
	for i, r := range m.recommendations {
		if old(r) {
			place = i
		}
	}
	if place < 0 {
		m.recommendations = append(m.recommendations, recommendation{replicas, now})
		return
	}
	m.recommendations[place] = recommendation{replicas, now}
}

// stabilize is the highest of the recommendations of the last five minutes
// (horizontal.go stabilizeRecommendation).
func (m *memory) stabilize(wanted int32, now time.Time) int32 {
	cutoff, highest := now.Add(-downscaleStabilization), wanted
	for _, r := range m.recommendations {
		if !r.at.Before(cutoff) {
			highest = max(highest, r.replicas)
		}
	}
	m.note(wanted, now, func(r recommendation) bool { return r.at.Before(cutoff) })
	return highest
}

// stabilizeBy holds a recommendation between the lowest of the up window and
// the highest of the down window (stabilizeRecommendationWithBehaviors).
func (m *memory) stabilizeBy(b *autoscalingv2.HorizontalPodAutoscalerBehavior, current, wanted int32, now time.Time) advice {
	upCutoff, downCutoff := now.Add(-window(b.ScaleUp, 0)), now.Add(-window(b.ScaleDown, downscaleStabilization))
	up, down := wanted, wanted
	for _, r := range m.recommendations {
		if r.at.After(upCutoff) {
			up = min(up, r.replicas)
		}
		if r.at.After(downCutoff) {
			down = max(down, r.replicas)
		}
	}
	m.note(wanted, now, func(r recommendation) bool { return r.at.Before(upCutoff) && r.at.Before(downCutoff) })
	out := advice{replicas: min(max(current, up), down)}
	if wanted >= current {
		out.reason, out.message = "ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation"
	} else {
		out.reason, out.message = "ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation"
	}
	return out
}

func window(rules *autoscalingv2.HPAScalingRules, otherwise time.Duration) time.Duration {
	if rules == nil || rules.StabilizationWindowSeconds == nil {
		return otherwise
	}
	return time.Duration(*rules.StabilizationWindowSeconds) * time.Second
}

// limit keeps a size between minimum and maximum, and from growing to more than
// twice the present one, or four (convertDesiredReplicasWithRules).
func limit(current, wanted, lowest, highest int32) advice {
	allowed := advice{highest, "TooManyReplicas", "the desired replica count is more than the maximum replica count"}
	if fastest := int32(min(max(2*int64(current), 4), math.MaxInt32)); highest > fastest {
		allowed = advice{fastest, "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}
	}
	switch {
	case wanted < lowest:
		return advice{lowest, "TooFewReplicas", "the desired replica count is less than the minimum replica count"}
	case wanted > allowed.replicas:
		return allowed
	}
	return advice{wanted, withinRange, withinRangeMessage}
}

// limitBy keeps a size between minimum and maximum and to the rate that the
// policies allow (convertDesiredReplicasWithBehaviorRate).
func (m *memory) limitBy(b *autoscalingv2.HorizontalPodAutoscalerBehavior, current, wanted, lowest, highest int32, now time.Time) advice {
	switch {
	case wanted > current:
		allowed := advice{highest, "TooManyReplicas", "the desired replica count is more than the maximum replica count"}
		if rate := max(m.rate(b.ScaleUp, current, +1, now), current); highest > rate {
			allowed = advice{rate, "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}
		}
		if wanted > allowed.replicas {
			return allowed
		}
	case wanted < current:
		allowed := advice{lowest, "TooFewReplicas", "the desired replica count is less than the minimum replica count"}
		if rate := min(m.rate(b.ScaleDown, current, -1, now), current); lowest < rate {
			allowed = advice{rate, "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"}
		}
		if wanted < allowed.replicas {
			return allowed
		}
	}
	return advice{wanted, withinRange, withinRangeMessage}
}

// rate is how far the policies let the size go in a direction now, +1 or -1:
// the farthest of them, or the nearest under Min (calculateScaleUpLimitWithScalingRules,
// calculateScaleDownLimitWithBehaviors).
func (m *memory) rate(rules *autoscalingv2.HPAScalingRules, current, direction int32, now time.Time) int32 {
	choice := autoscalingv2.MaxChangePolicySelect
	if rules.SelectPolicy != nil {
		choice = *rules.SelectPolicy
	}
	if choice == autoscalingv2.DisabledPolicySelect {
		return current
	}
	farthest := choice != autoscalingv2.MinChangePolicySelect
	higher := farthest == (direction > 0)
	out := int32(math.MaxInt32)
	if higher {
		out = math.MinInt32
	}
	for _, policy := range rules.Policies {
		reach := m.reach(policy, current, direction, now)
		if higher {
			out = max(out, reach)
		} else {
			out = min(out, reach)
		}
	}
	return out
}

// reach is where one policy lets the size go, counted from what it was when the policy's period began.
func (m *memory) reach(policy autoscalingv2.HPAScalingPolicy, current, direction int32, now time.Time) int32 {
	since := now.Add(-time.Duration(policy.PeriodSeconds) * time.Second)
	begin := current - changed(m.ups, since) + changed(m.downs, since)
	switch {
	case policy.Type == autoscalingv2.PodsScalingPolicy:
		return begin + direction*policy.Value
	case direction > 0:
		// Rounded up, so that a small size can grow at all.
		return ceil32(float64(begin) * (1 + float64(policy.Value)/100))
	}
	return int32(float64(begin) * (1 - float64(policy.Value)/100))
}

// changed is the sum of the changes after a time.
func changed(all []scaling, since time.Time) (sum int32) {
	for _, s := range all {
		if s.at.After(since) {
			sum += s.change
		}
	}
	return sum
}

// rescaled remembers a change of size, in the place of the last one that no
// policy looks back at where there is one (storeScaleEvent).
func (m *memory) rescaled(b *autoscalingv2.HorizontalPodAutoscalerBehavior, from, to int32, now time.Time) {
	switch {
	case b == nil:
	case to > from:
		m.ups = remember(m.ups, scaling{to - from, now}, b.ScaleUp)
	default:
		m.downs = remember(m.downs, scaling{from - to, now}, b.ScaleDown)
	}
}

func remember(all []scaling, s scaling, rules *autoscalingv2.HPAScalingRules) []scaling {
	longest, place := int32(0), -1
	for _, policy := range rules.Policies {
		longest = max(longest, policy.PeriodSeconds)
	}
	cutoff := s.at.Add(-time.Duration(longest) * time.Second)
	for i := range all {
		if all[i].at.Before(cutoff) {
			place = i
		}
	}
	if place < 0 {
		return append(all, s)
	}
	all[place] = s
	return all
}
