// Package diagnosis finds out what holds a rollout that does not complete, or
// that waits long: it has the same change played again in worlds that have one
// constraint less, and where no single one helps, two. What helps is offered as
// a remedy with what the rollout then costs.
package diagnosis

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Object is what a world is made of.
type Object interface {
	metav1.Object
	runtime.Object
}

// Relaxed is how a world differs from the one of the plan. The zero value does not.
type Relaxed struct {
	// Edit is asked of every object on its way into the world and returns it, or
	// a changed copy; nil leaves all as they are.
	Edit func(Object) Object
	// Nodes are there besides.
	Nodes []*corev1.Node
	// Well are the pods that become ready in spite of all that is known of them;
	// nil means none.
	Well func(*corev1.Pod) bool
	// Heard lets requests through that the scenario fails.
	Heard bool
}

// and is a world relaxed in both ways.
func (r Relaxed) and(other Relaxed) Relaxed {
	out := Relaxed{Edit: r.Edit, Nodes: slices.Concat(r.Nodes, other.Nodes), Well: r.Well, Heard: r.Heard || other.Heard}
	switch {
	case out.Edit == nil:
		out.Edit = other.Edit
	case other.Edit != nil:
		out.Edit = func(obj Object) Object { return other.Edit(r.Edit(obj)) }
	}
	if out.Well == nil {
		out.Well = other.Well
	}
	return out
}

// Replay plays the plan's change once more, with its seed, in a relaxed world.
type Replay func(ctx context.Context, r Relaxed) (*v1alpha1.RolloutPlan, error)

// Case is a plan and what it was made in.
type Case struct {
	Plan *v1alpha1.RolloutPlan
	// Objects are those of the world at the end of the plan.
	Objects []Object
	// Faulty says that the scenario makes requests fail.
	Faulty bool
	// Whole says that all that was there is known still, so that it can be played again.
	Whole  bool
	Replay Replay
}

// How much is played again. Worlds are measured by their events, so that equal
// input gives equal output however fast the machine is.
const (
	maxRuns      = 40
	maxEvents    = 400_000 // of all runs
	largeWorld   = 40_000  // events of one run
	maxWorkloads = 3
	maxPairs     = 3 // remedies of two changes
	// LongWait is how long a workload that completes has to wait for progress,
	// in seconds, to be looked into.
	LongWait = 60
)

// Worthy says whether a workload is one to look into.
func Worthy(w *v1alpha1.WorkloadStatus) bool {
	switch w.Verdict {
	case v1alpha1.Stuck, v1alpha1.DeadlineExceeded:
		return true
	case v1alpha1.Complete:
		return w.LongestWaitForProgressSeconds >= LongWait
	}
	return false
}

// Explain adds a diagnosis to every workload of the case's plan that is worth
// one, and its remedies to the first of the workload's reasons where they say
// more than that does.
func Explain(ctx context.Context, c Case) error {
	tl := timeline.Of(c.Plan)
	s := &search{Case: c, tl: tl}
	looked := 0
	for i := range c.Plan.Status.Workloads {
		w := &c.Plan.Status.Workloads[i]
		if !Worthy(w) {
			continue
		}
		looked++
		switch {
		case !c.Whole || len(c.Plan.Events) > largeWorld:
			w.Diagnosis = omitted("the world is too large to be played again and again")
		case looked > maxWorkloads:
			w.Diagnosis = omitted("other workloads were looked into first")
		default:
			d, err := s.look(ctx, w)
			if err != nil {
				return err
			}
			w.Diagnosis = d
		}
		if len(w.Reasons) > 0 && w.Diagnosis.Better(w.Reasons[0]) {
			w.Reasons[0].Remedy = summary(w.Diagnosis.Remedies)
		}
	}
	return nil
}

func omitted(why string) *v1alpha1.Diagnosis {
	return &v1alpha1.Diagnosis{Constraints: []v1alpha1.Constraint{}, Remedies: []v1alpha1.Remedy{}, Omitted: why}
}

// summary is all remedies on one line.
func summary(remedies []v1alpha1.Remedy) string {
	var all []string
	for _, r := range remedies {
		all = append(all, strings.Join(r.Changes, " and "))
	}
	return strings.Join(all, "; or ")
}

// search is the worlds that are tried for one plan.
type search struct {
	Case
	tl     *timeline.Timeline
	runs   int
	events int
	over   bool // no more may be tried
}

// look diagnoses one workload.
func (s *search) look(ctx context.Context, w *v1alpha1.WorkloadStatus) (*v1alpha1.Diagnosis, error) {
	before := s.runs
	p := s.patient(w)
	d := &v1alpha1.Diagnosis{Wait: p.wait, Constraints: []v1alpha1.Constraint{}, Remedies: []v1alpha1.Remedy{}}
	found := p.relaxations()
	helped, err := s.singles(ctx, p, found, d)
	if err == nil && !helped {
		err = s.pairs(ctx, p, found, d)
	}
	if err != nil {
		return nil, err
	}
	d.Runs = s.runs - before
	if s.over {
		d.Omitted = "not everything was tried: that would have taken too long"
	}
	return d, nil
}

// singles relaxes one constraint at a time.
func (s *search) singles(ctx context.Context, p *patient, found []relaxation, d *v1alpha1.Diagnosis) (helped bool, err error) {
	for _, r := range found {
		for _, way := range r.ways {
			result, _, err := s.try(ctx, p, way.relaxed)
			if err != nil {
				return helped, err
			}
			if result == nil {
				continue
			}
			helped = true
			d.Constraints = append(d.Constraints, r.Constraint)
			d.Remedies = append(d.Remedies, remedy(result, named{r, way.words(result)}))
			break
		}
	}
	return helped, nil
}

// pairs relaxes two constraints at a time, each in its strongest way. Behind a
// constraint may stand another that shows only when the first is gone.
func (s *search) pairs(ctx context.Context, p *patient, found []relaxation, d *v1alpha1.Diagnosis) error {
	for i, a := range found {
		one := a.ways[len(a.ways)-1]
		partners := found[i+1:]
		_, plan, err := s.try(ctx, p, one.relaxed)
		if err != nil {
			return err
		}
		if plan != nil {
			partners = slices.Concat(partners, p.behind(plan, found))
		}
		for _, b := range partners {
			other := b.ways[len(b.ways)-1]
			result, _, err := s.try(ctx, p, one.relaxed.and(other.relaxed))
			if err != nil {
				return err
			}
			if result == nil {
				continue
			}
			hold(d, a, b)
			d.Remedies = append(d.Remedies, remedy(result, named{a, one.words(result)}, named{b, other.words(result)}))
			if len(d.Remedies) == maxPairs {
				return nil
			}
		}
	}
	return nil
}

// hold adds constraints to those that hold, each once.
func hold(d *v1alpha1.Diagnosis, relaxations ...relaxation) {
	for _, r := range relaxations {
		if !slices.Contains(d.Constraints, r.Constraint) {
			d.Constraints = append(d.Constraints, r.Constraint)
		}
	}
}

// behind are the constraints that show once another one is gone.
func (p *patient) behind(plan *v1alpha1.RolloutPlan, found []relaxation) []relaxation {
	s := &search{Case: p.search.Case, tl: timeline.Of(plan)}
	s.Plan = plan
	var out []relaxation
	for i := range plan.Status.Workloads {
		if w := &plan.Status.Workloads[i]; w.Object == p.Object && w.Verdict != v1alpha1.Complete {
			for _, r := range s.patient(w).relaxations() {
				known := func(other relaxation) bool { return other.Type == r.Type && other.Object == r.Object }
				if !slices.ContainsFunc(found, known) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// try plays the change in a relaxed world. It is nil when that does not help
// the patient, and so is the plan when nothing was played.
func (s *search) try(ctx context.Context, p *patient, r Relaxed) (*v1alpha1.WorkloadStatus, *v1alpha1.RolloutPlan, error) {
	if s.over = s.over || s.runs >= maxRuns || s.events > maxEvents; s.over {
		return nil, nil, nil
	}
	plan, err := s.Replay(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s.runs++
	s.events += len(plan.Events)
	for i := range plan.Status.Workloads {
		if w := &plan.Status.Workloads[i]; w.Object == p.Object && p.helpedBy(w) {
			return w, plan, nil
		}
	}
	return nil, plan, nil
}

// named is a relaxation and what to do for it.
type named struct {
	relaxation
	change string
}

func remedy(result *v1alpha1.WorkloadStatus, steps ...named) v1alpha1.Remedy {
	out := v1alpha1.Remedy{
		DurationSeconds: result.DurationSeconds, PeakPods: result.Pods.Peak, LeastAvailable: result.Available.Least,
		LongestWaitForProgressSeconds: result.LongestWaitForProgressSeconds,
	}
	for _, step := range steps {
		out.Types = append(out.Types, step.Type)
		out.Changes = append(out.Changes, step.change)
	}
	return out
}

// patient is the workload that is looked into.
type patient struct {
	*v1alpha1.WorkloadStatus
	search   *search
	workload *timeline.Workload
	wait     *v1alpha1.Wait
	symptoms []v1alpha1.Reason // why it does not complete, or waits
	counts   timeline.Counts   // at the end, or at the end of the wait
	template *corev1.PodTemplateSpec
	selector *metav1.LabelSelector
}

// helpedBy says whether a relaxed world is good for it: it completes, and if
// it completed before, it waits no more than half as long.
func (p *patient) helpedBy(w *v1alpha1.WorkloadStatus) bool {
	if w.Verdict != v1alpha1.Complete && w.Verdict != v1alpha1.NothingToDo {
		return false
	}
	return p.Verdict != v1alpha1.Complete || 2*w.LongestWaitForProgressSeconds <= p.LongestWaitForProgressSeconds
}

// patient gathers what is known of a workload that is to be looked into.
func (s *search) patient(w *v1alpha1.WorkloadStatus) *patient {
	p := &patient{WorkloadStatus: w, search: s, symptoms: w.Reasons}
	tl := s.tl
	if w.Verdict == v1alpha1.Complete {
		tl = p.waiting()
	}
	if i := slices.IndexFunc(tl.Workloads, func(t *timeline.Workload) bool { return t.Object == w.Object }); i >= 0 {
		p.workload = tl.Workloads[i]
		p.counts = p.workload.At(tl.End)
	}
	if p.workload == nil {
		p.workload = &timeline.Workload{}
	}
	p.template, p.selector = s.template(w.Object)
	return p
}

// waiting is the run up to the middle of the patient's longest wait.
func (p *patient) waiting() *timeline.Timeline {
	c := p.search.Plan
	from, to := p.search.tl.LongestWait(p.Object)
	n, _ := slices.BinarySearchFunc(c.Events, from+(to-from)/2, func(e trace.Event, to time.Duration) int { return cmp.Compare(e.Offset, to) })
	until := timeline.Build(c.Events[:n], timeline.Options{Started: c.Spec.Started(), Workloads: c.Spec.Workloads})
	p.symptoms = until.Why(p.Object)
	p.wait = &v1alpha1.Wait{FromSeconds: seconds(from), ToSeconds: seconds(to), Reasons: p.symptoms}
	return until
}

// seconds is a duration to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
