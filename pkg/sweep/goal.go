package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// Goal is what a strategy is chosen by: bounds that it must keep, and an order
// among those that do.
type Goal struct {
	better func(a, b v1alpha1.StrategyResult) int
	bounds []func(v1alpha1.StrategyResult) bool
}

// GoalHelp says what a goal can be.
const GoalHelp = "fastest, safest or leanest, and bounds after 'with', joined by 'and': minAvailable, peakPods, peakCPU, peakMemory, duration with >=, >, <=, < or ="

// orders are the words that a goal begins with; what ties is decided by the others.
var orders = map[string]func(a, b v1alpha1.StrategyResult) int{
	"fastest": func(a, b v1alpha1.StrategyResult) int {
		return cmp.Or(byDuration(a, b), byAvailable(a, b), byPods(a, b))
	},
	"safest": func(a, b v1alpha1.StrategyResult) int {
		return cmp.Or(byAvailable(a, b), byDuration(a, b), byPods(a, b))
	},
	"leanest": func(a, b v1alpha1.StrategyResult) int {
		return cmp.Or(byPods(a, b), byDuration(a, b), byAvailable(a, b))
	},
}

func byDuration(a, b v1alpha1.StrategyResult) int {
	return cmp.Compare(a.DurationSeconds, b.DurationSeconds)
}

func byAvailable(a, b v1alpha1.StrategyResult) int {
	return cmp.Compare(b.Available.Least, a.Available.Least)
}

func byPods(a, b v1alpha1.StrategyResult) int { return cmp.Compare(a.Pods.Peak, b.Pods.Peak) }

// ParseGoal reads a goal, such as "fastest with minAvailable>=100% and peakPods<=13".
func ParseGoal(text string) (*Goal, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, fmt.Errorf("the goal is empty: expected %s", GoalHelp)
	}
	better, ok := orders[words[0]]
	if !ok {
		return nil, fmt.Errorf("%q is not one of fastest, safest, leanest", words[0])
	}
	g := &Goal{better: better}
	if len(words) == 1 {
		return g, nil
	}
	if words[1] != "with" || len(words) == 2 {
		return nil, fmt.Errorf("after %q comes 'with' and a bound, as in with peakPods<=13", words[0])
	}
	for _, bound := range strings.Split(" "+strings.Join(words[2:], " ")+" ", " and ") {
		keeps, err := parseBound(strings.ReplaceAll(bound, " ", ""))
		if err != nil {
			return nil, err
		}
		g.bounds = append(g.bounds, keeps)
	}
	return g, nil
}

// Met reports whether a strategy completes its rollout within the bounds.
func (g *Goal) Met(r v1alpha1.StrategyResult) bool {
	return completes(r) && !slices.ContainsFunc(g.bounds, func(keeps func(v1alpha1.StrategyResult) bool) bool { return !keeps(r) })
}

// Choose is the index of the best strategy that meets the goal, the first of
// equals; -1 when none does.
func (g *Goal) Choose(all []v1alpha1.StrategyResult) int {
	best := -1
	for i, r := range all {
		if g.Met(r) && (best < 0 || g.better(r, all[best]) < 0) {
			best = i
		}
	}
	return best
}

func completes(r v1alpha1.StrategyResult) bool {
	return r.Verdict == v1alpha1.Complete || r.Verdict == v1alpha1.NothingToDo
}

// parseBound reads NAME OPERATOR VALUE, written without blanks.
func parseBound(text string) (func(v1alpha1.StrategyResult) bool, error) {
	at := strings.IndexAny(text, "<>=")
	if at <= 0 {
		return nil, fmt.Errorf("%q is not a bound such as peakPods<=13", text)
	}
	name, operator, value := text[:at], text[at:at+1], text[at+1:]
	if operator != "=" && strings.HasPrefix(value, "=") {
		operator, value = operator+"=", value[1:]
	}
	measure, err := measureOf(name, value)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return func(r v1alpha1.StrategyResult) bool {
		order := measure(r)
		switch operator {
		case "<":
			return order < 0
		case "<=":
			return order <= 0
		case ">":
			return order > 0
		case ">=":
			return order >= 0
		}
		return order == 0
	}, nil
}

// measureOf compares a result with the value of a bound.
func measureOf(name, value string) (func(v1alpha1.StrategyResult) int, error) {
	switch name {
	case "minAvailable":
		return availableBound(value)
	case "peakPods":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a number of pods", value)
		}
		return func(r v1alpha1.StrategyResult) int { return cmp.Compare(int64(r.Pods.Peak), n) }, nil
	case "peakCPU", "peakMemory":
		return requestBound(name, value)
	case "duration":
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%q is not a duration such as 5m or 90s", value)
		}
		return func(r v1alpha1.StrategyResult) int { return cmp.Compare(r.DurationSeconds, d.Seconds()) }, nil
	}
	return nil, fmt.Errorf("%q is not one of minAvailable, peakPods, peakCPU, peakMemory, duration", name)
}

func availableBound(value string) (func(v1alpha1.StrategyResult) int, error) {
	digits, percent := strings.CutSuffix(value, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not a number of pods or a percentage", value)
	}
	return func(r v1alpha1.StrategyResult) int {
		if percent { // in whole numbers, so that 90% of 10 is exactly 9
			return cmp.Compare(100*int64(r.Available.Least), n*int64(r.Available.Desired))
		}
		return cmp.Compare(int64(r.Available.Least), n)
	}, nil
}

func requestBound(name, value string) (func(v1alpha1.StrategyResult) int, error) {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() < 0 {
		return nil, fmt.Errorf("%q is not an amount such as 4, 500m or 16Gi", value)
	}
	if name == "peakCPU" {
		return func(r v1alpha1.StrategyResult) int { return cmp.Compare(r.PeakRequests.MilliCPU, q.MilliValue()) }, nil
	}
	return func(r v1alpha1.StrategyResult) int { return cmp.Compare(r.PeakRequests.MemoryBytes, q.Value()) }, nil
}
