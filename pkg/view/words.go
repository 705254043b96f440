package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// ruleWords say what an arithmetic is about.
var ruleWords = map[trace.Rule]string{
	trace.Room:           "room",
	trace.Surplus:        "spare",
	trace.Unhealthy:      "not available",
	trace.Available:      "spare",
	trace.Proportion:     "share",
	trace.Desired:        "follows replicas",
	trace.Saturated:      "new pods all available",
	trace.Recreate:       "Recreate, old pods go first",
	trace.OldPodsRunning: "waits for old pods to end",
	trace.Wanted:         "wants",
	trace.Expectations:   "waits to see its own writes",
	trace.Wedged:         "desired-replicas annotation is off",
	trace.PausedRollout:  "paused, not rolled out",
	trace.History:        "beyond revisionHistoryLimit",
	trace.Unexplained:    "not what the controllers' logic gives here",
}

// termWords are the terms whose names are not words already.
var termWords = map[string]string{
	"notReady":    "not ready",
	"desiredLeft": "desired left",
	"size":        "in this set",
}

func termWord(name string) string {
	if word, ok := termWords[name]; ok {
		return word
	}
	return name
}

// arithmetic is a decision's sum in words: room: 10 desired + 3 surge - 10 pods = 3.
func arithmetic(rule trace.Rule, terms []trace.Term, result int32) string {
	word := ruleWords[rule]
	if word == "" {
		word = string(rule)
	}
	switch {
	case rule == trace.Wanted && len(terms) == 2:
		return fmt.Sprintf("%d %s, %d %s", abs(terms[1].Value), terms[1].Name, abs(terms[0].Value), terms[0].Name)
	case rule == trace.Unexplained && len(terms) == 1:
		return fmt.Sprintf("%s: that is %d", word, terms[0].Value)
	case rule == trace.Proportion:
		return word + ": " + proportion(terms, result)
	case rule == trace.Desired && len(terms) == 1:
		return fmt.Sprintf("%s: %d", word, terms[0].Value)
	case len(terms) == 0:
		return word
	}
	return word + ": " + sum(terms, result)
}

// sum writes signed terms. A last term that the others exceed is a limit.
func sum(terms []trace.Term, result int32) string {
	total := int32(0)
	for _, t := range terms {
		total += t.Value
	}
	last := terms[len(terms)-1]
	switch {
	case len(terms) == 1:
		return fmt.Sprintf("%d %s", last.Value, termWord(last.Name))
	case total == result:
		return fmt.Sprintf("%s = %d", operands(terms), result)
	case last.Value == result && total-last.Value > result:
		return fmt.Sprintf("%s = %d, at most %d %s", operands(terms[:len(terms)-1]), total-last.Value, result, termWord(last.Name))
	}
	return fmt.Sprintf("%s = %d, so %d", operands(terms), total, result)
}

func operands(terms []trace.Term) string {
	var b strings.Builder
	for i, t := range terms {
		switch {
		case i == 0:
			fmt.Fprint(&b, t.Value)
		case t.Value < 0, t.Value == 0 && t.Name != "surge": // zero has no sign: - 0 not ready, + 0 surge
			fmt.Fprintf(&b, " - %d", abs(t.Value))
		default:
			fmt.Fprintf(&b, " + %d", t.Value)
		}
		if i > 0 || t.Name != "desired" {
			b.WriteString(" " + termWord(t.Name))
		}
	}
	return b.String()
}

// proportion is a ReplicaSet's share: 8 x 18 / 13, so +3.
func proportion(terms []trace.Term, result int32) string {
	value := map[string]int32{}
	for _, t := range terms {
		value[t.Name] = t.Value
	}
	text := fmt.Sprintf("%d size", value["size"])
	if base, ok := value["base"]; ok {
		text = fmt.Sprintf("%d size x %d max / %d base", value["size"], value["max"], base)
	}
	if left, ok := value["left"]; ok {
		text += fmt.Sprintf(", at most %d left", left)
	}
	if leftover, ok := value["leftover"]; ok {
		text += fmt.Sprintf(", and %d left over", leftover)
	}
	return fmt.Sprintf("%s, so %+d", text, result)
}

func abs(n int32) int32 { return max(n, -n) }

// ranked says why this pod goes and not another.
func ranked(r trace.Rank) string {
	switch r.Rule {
	case "Unassigned":
		return "has no node yet"
	case "Phase":
		return fmt.Sprintf("%s goes before %s", r.Mine, r.Other)
	case "NotReady":
		return "not ready, " + r.Stays + " is"
	case "DeletionCost":
		return fmt.Sprintf("lower deletion cost: %s, %s has %s", r.Mine, r.Stays, r.Other)
	case "NodeCrowded":
		return fmt.Sprintf("crowded node: %s pods of this owner, %s beside %s", r.Mine, r.Other, r.Stays)
	case "ReadyAge":
		return fmt.Sprintf("least settled: ready for %s, %s for %s", age(r.Mine), r.Stays, age(r.Other))
	case "Restarts":
		return fmt.Sprintf("more restarts: %s, %s has %s", r.Mine, r.Stays, r.Other)
	case "Age":
		return fmt.Sprintf("younger: there for %s, %s for %s", age(r.Mine), r.Stays, age(r.Other))
	case "UID":
		return "ages alike, smaller UID"
	case "Tie":
		return "no rule decides"
	case "All":
		return "all go"
	}
	return r.Rule
}

// age is a power of two of nanoseconds as the time it begins with: 8.6s+.
func age(bucket string) string {
	n, err := strconv.Atoi(bucket)
	if err != nil || n > 62 {
		return bucket
	}
	d := time.Duration(math.Exp2(float64(n)))
	switch {
	case n < 0:
		return "0s"
	case d >= time.Hour:
		return fmt.Sprintf("%.1fh+", d.Hours())
	case d >= time.Minute:
		return fmt.Sprintf("%.1fm+", d.Minutes())
	}
	return fmt.Sprintf("%.1fs+", d.Seconds())
}

// keeps is what becomes of a pod whose eviction is refused.
const keeps = "may not evict"

// nodeWords are for what happens to a node.
func nodeWords(d trace.Detail) (what, because string, tone tone) {
	switch d := d.(type) {
	case trace.Heartbeat:
		switch d.State {
		case "Stopped":
			return "falls silent", "its kubelet stops answering", bad
		case "Missed":
			return "misses a heartbeat", "the first that was due", bad
		}
		return "is back", "its kubelet answers again", good
	case trace.Tainted:
		if d.Removed {
			return "loses a taint", d.Taint, good
		}
		return "tainted", d.Taint, bad
	}
	return "", "", plain
}
