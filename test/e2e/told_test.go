package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// happening is one thing that becomes of a node or of a pod.
type happening struct {
	seconds float64 // since the node stopped
	who     string  // node-0; lost-1 was a pod of it, kept-1 one of another node, new-1 came after
	what    string
}

type story []happening

// teller makes a story of what was predicted or recorded, in the same words.
type teller struct {
	node    string
	names   map[string]string // of pods, in the story
	ready   map[string]bool
	leaving map[string]bool
	made    int
	story   story
}

// newTeller knows the pods that are there, with their nodes; all are ready.
func newTeller(node string, nodes map[string]string) *teller {
	t := &teller{node: node, names: map[string]string{}, ready: map[string]bool{}, leaving: map[string]bool{}}
	counts := map[string]int{}
	for _, pod := range sortedKeys(nodes) {
		role := "kept"
		if nodes[pod] == node {
			role = "lost"
		}
		counts[role]++
		t.names[pod], t.ready[pod] = fmt.Sprintf("%s-%d", role, counts[role]), true
	}
	return t
}

func (t *teller) tell(at time.Duration, about trace.Ref, d trace.Detail) {
	name := about.Name
	who := t.names[name]
	add := func(what string) {
		if who != "" {
			t.story = append(t.story, happening{at.Seconds(), who, what})
		}
	}
	if about.Kind == "Node" && name == t.node {
		who = name
	}
	switch d := d.(type) {
	case trace.ConditionChanged:
		add(fmt.Sprintf("%s=%s %s: %s", d.Condition, d.Status, d.Reason, d.Message))
	case trace.Tainted:
		add(map[bool]string{false: "tainted ", true: "no longer tainted "}[d.Removed] + d.Taint)
	case trace.Created:
		if about.Kind == "Pod" {
			t.made++
			who = fmt.Sprintf("new-%d", t.made)
			t.names[name] = who
			add("made")
		}
	case trace.Evicted:
		add("evicted")
	case trace.Removed:
		add("gone")
	case trace.PodChanged:
		if d.Ready != t.ready[name] {
			add(map[bool]string{false: "not ready", true: "ready"}[d.Ready])
		}
		if d.Terminating && !t.leaving[name] {
			add("terminating")
		}
		t.ready[name], t.leaving[name] = d.Ready, d.Terminating
	}
}

// heartbeats are what lies between a kubelet's signs of life.
const heartbeats = 10 * time.Second

// predictedStory tells a plan in which a node stops at once, and how long
// before that the plan has it give its last sign of life.
func predictedStory(plan *v1alpha1.RolloutPlan, node string) (_ story, silent time.Duration) {
	nodes := map[string]string{}
	for _, e := range plan.Events {
		if found, ok := e.Detail.(trace.Found); ok && e.Object.Kind == "Pod" {
			nodes[e.Object.Name] = found.Node
		}
	}
	t := newTeller(node, nodes)
	for _, e := range plan.Events {
		if beat, ok := e.Detail.(trace.Heartbeat); ok && beat.State == "Missed" {
			silent = heartbeats - e.Offset
		}
		t.tell(e.Offset, e.Object, e.Detail)
	}
	return t.story, silent
}

// realStory tells what was recorded after a mark.
func realStory(events []seen, mark int, node string, stopped time.Time) story {
	nodes, pods, was := map[string]string{}, map[string]*corev1.Pod{}, (*corev1.Node)(nil)
	for _, e := range events[:mark] {
		switch o := e.obj.(type) {
		case *corev1.Node:
			if o.Name == node {
				was = o
			}
		case *corev1.Pod:
			nodes[o.Name], pods[o.Name] = o.Spec.NodeName, o
			if e.verb == watch.Deleted || o.DeletionTimestamp != nil {
				delete(nodes, o.Name)
			}
		}
	}
	t := newTeller(node, nodes)
	for _, e := range events[mark:] {
		at := e.at.Sub(stopped)
		switch o := e.obj.(type) {
		case *corev1.Node:
			if o.Name == node {
				derive.Node(o, was, func(d trace.Detail) { t.tell(at, trace.Ref{Kind: "Node", Name: node}, d) })
				was = o
			}
		case *corev1.Pod:
			t.tellPod(at, e.verb, o, pods[o.Name])
			pods[o.Name] = o
		}
	}
	return t.story
}

// tellPod tells of one event of a real pod.
func (t *teller) tellPod(at time.Duration, verb watch.EventType, pod, was *corev1.Pod) {
	tell := func(d trace.Detail) { t.tell(at, trace.Ref{Kind: "Pod", Name: pod.Name}, d) }
	switch {
	case verb == watch.Deleted:
		tell(trace.Removed{})
	case was == nil:
		tell(trace.Created{})
	default:
		if disrupted(pod) && !disrupted(was) {
			tell(trace.Evicted{})
		}
		derive.Pod(pod, was, tell)
	}
}

// disrupted pods say that a taint makes them go.
func disrupted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByTaintManager"
	})
}

func (s story) String() string {
	var b strings.Builder
	for _, h := range s {
		fmt.Fprintf(&b, "%7.3fs %-8s %s\n", h.seconds, h.who, h.what)
	}
	return b.String()
}

// of is what becomes of one.
func (s story) of(who string) (out story) {
	for _, h := range s {
		if h.who == who {
			out = append(out, h)
		}
	}
	return out
}

// everyone of two stories, by name.
func everyone(a, b story) []string {
	whos := map[string]bool{}
	for _, h := range slices.Concat(a, b) {
		whos[h.who] = true
	}
	return sortedKeys(whos)
}

// differences are in what it went otherwise than predicted: the same has to
// become of everyone in the same order, at about the same times.
func (s story) differences(real story) (out []string) {
	if len(s)+len(real) == 0 {
		return []string{"nothing was predicted, and nothing happened"}
	}
	for _, who := range everyone(s, real) {
		predicted, got := s.of(who), real.of(who)
		if len(got) != len(predicted) {
			out = append(out, fmt.Sprintf("of %s became\n%spredicted was\n%s", who, got, predicted))
			continue
		}
		for i := range got {
			if p := predicted[i]; got[i].what != p.what || got[i].seconds < p.seconds-slack || got[i].seconds > p.seconds+slack {
				out = append(out, fmt.Sprintf("%s: %s at %.1f s, predicted %s at %.1f s", who, got[i].what, got[i].seconds, p.what, p.seconds))
			}
		}
	}
	return out
}

// beside is a table of two stories, Markdown.
func (s story) beside(real story) string {
	var b strings.Builder
	b.WriteString("| | | predicted at | real at |\n|---|---|---|---|\n")
	for _, who := range everyone(s, real) {
		predicted, got := s.of(who), real.of(who)
		for i := range max(len(predicted), len(got)) {
			what, p, r := "", "never", "never"
			if i < len(predicted) {
				what, p = predicted[i].what, fmt.Sprintf("%.1f s", predicted[i].seconds)
			}
			if i < len(got) {
				what, r = both(cmp.Or(what, got[i].what), got[i].what), fmt.Sprintf("%.1f s", got[i].seconds)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", who, what, p, r)
		}
	}
	return b.String()
}
