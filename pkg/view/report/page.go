package report

import (
	"fmt"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// page is what the template shows.
type page struct {
	code
	Title     string
	Verdict   string
	Workloads []workload
	Facts     []string
	Data      data
}

// workload is one Deployment or bare ReplicaSet: what can be read without a script.
type workload struct {
	ID, Name  string
	Identity  string
	Level     string // good, bad or other: how the verdict looks
	Result    string
	Reasons   []string
	Remedies  []string
	Totals    []fact
	Changes   []change
	Steps     []step
	Decisions int // steps that are not about single pods
}

type fact struct{ Label, Text string }

type change struct{ Path, From, To string }

// step is a row of the table.
type step struct {
	Seq                 trace.Seq
	Time, Old, New      string
	Available, Who      string
	What, Because, Tone string
	OfPod, Short        bool
}

// podLines is how many like lines about pods the table has one by one: the lanes show each pod.
const podLines = 8

func newPage(plan *v1alpha1.RolloutPlan) (*page, error) {
	tl, stories := view.Stories(plan, view.Options{Detail: trace.Pods, MaxPodLines: podLines})
	p := &page{Facts: facts(plan.Spec), Verdict: string(plan.Status.Verdict), Data: newData(tl, stories)}
	var names []string
	for i, s := range stories {
		p.Workloads = append(p.Workloads, newWorkload(i, s, tl.Index))
		names = append(names, named(s.Workload.Object))
	}
	p.Title = "Rollout of " + view.Clean(strings.Join(names, ", "))
	var err error
	p.code, err = newCode()
	return p, err
}

func newWorkload(i int, s view.Story, index *trace.Index) workload {
	w := workload{
		ID: fmt.Sprintf("workload-%d", i), Name: view.Clean(named(s.Workload.Object)), Identity: view.Clean(strings.Join(s.Identity[1:], "  ")),
		Level: level(s.Status.Verdict), Result: s.Result, Reasons: cleaned(s.Reasons), Remedies: cleaned(s.Remedies),
	}
	for _, f := range []fact{{"Pods", s.Pods}, {"Available", s.Available}, {"Deadline", s.Deadline}} {
		if f.Text != "" {
			w.Totals = append(w.Totals, f)
		}
	}
	for _, f := range s.Workload.Fields() {
		path := f.Path
		if f.Named != "" {
			path = f.Named
		}
		w.Changes = append(w.Changes, change{view.Clean(path), view.Clean(f.From), view.Clean(f.To)})
	}
	for _, row := range s.Steps {
		line := newStep(row)
		if e, ok := index.Event(row.Seq); ok {
			line.OfPod = trace.DepthOf(e.Detail) == trace.Pods
		}
		if !line.OfPod {
			w.Decisions++
		}
		w.Steps = append(w.Steps, line)
	}
	return w
}

func newStep(s view.Step) step {
	out := step{
		Seq: s.Seq, Time: view.Clock(s.At), Who: view.Clean(s.Who), What: view.Clean(s.What), Because: view.Clean(s.Because), Tone: string(s.Tone),
	}
	if c := s.Counts; c != nil {
		out.Old, out.New, out.Available = fmt.Sprint(c.Old), fmt.Sprint(c.New), fmt.Sprintf("%d/%d", c.Available, c.Needed)
		out.Short = c.Available < c.Needed
	}
	return out
}

func level(v v1alpha1.Verdict) string {
	switch v {
	case v1alpha1.Complete, v1alpha1.NothingToDo:
		return "good"
	case v1alpha1.Stuck, v1alpha1.DeadlineExceeded:
		return "bad"
	}
	return "other"
}

// facts are what the run was given.
func facts(spec v1alpha1.RolloutPlanSpec) []string {
	out := cleaned(spec.World)
	if spec.KubernetesVersion != "" {
		out = append(out, "Kubernetes "+view.Clean(spec.KubernetesVersion))
	}
	if spec.Predicted == nil {
		return append(out, fmt.Sprintf("simulated, seed %d", spec.Seed))
	}
	return append(out, fmt.Sprintf("a real rollout; planned was %s after %gs", view.Clean(string(spec.Predicted.Verdict)), spec.Predicted.DurationSeconds))
}

func cleaned(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = view.Clean(t)
	}
	return out
}

// named is an object as a person would write it: deployment/web.
func named(ref trace.Ref) string { return strings.ToLower(ref.Kind) + "/" + ref.Name }
