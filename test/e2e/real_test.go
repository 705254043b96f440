package e2e

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// reality folds what was recorded into what became of a change.
type reality struct {
	names []string // the Deployments that are changed
	began time.Time
	sizes sizes
	seen  map[string]*appsv1.Deployment
	pods  map[string]*corev1.Pod
	apps  map[string]*outcome
}

// outcome is how far one Deployment has come.
type outcome struct {
	pods
	before  int64 // its generation before the change
	changed bool
	moved   time.Time // last scaled, or its counts changed
	stirred time.Time // or anything became of its pods
	ended   time.Time
	verdict v1alpha1.Verdict
}

// newReality is what there is before the change; it then takes what comes of it.
func newReality(before []seen, names []string) *reality {
	r := &reality{names: names, seen: map[string]*appsv1.Deployment{}, pods: map[string]*corev1.Pod{}, apps: map[string]*outcome{}}
	for _, e := range before {
		r.take(e)
	}
	r.start()
	return r
}

// start counts from here on.
func (r *reality) start() {
	r.sizes.steps = nil
	for _, name := range r.names {
		o := &outcome{}
		if d := r.seen[name]; d != nil {
			o.before = d.Generation
		}
		o.peak, o.least = r.count(name, time.Now())
		r.apps[name] = o
	}
}

func (r *reality) take(e seen) {
	switch obj := e.obj.(type) {
	case *appsv1.Deployment:
		r.takeDeployment(e.at, obj)
	case *appsv1.ReplicaSet:
		if e.verb != watch.Deleted {
			r.takeSet(e.at, obj)
		}
	case *corev1.Pod:
		r.takePod(e, obj)
	}
}

func (r *reality) takeDeployment(at time.Time, d *appsv1.Deployment) {
	before := r.seen[d.Name]
	r.seen[d.Name] = d
	o := r.apps[d.Name]
	if o == nil || d.Generation == o.before {
		return
	}
	if r.began.IsZero() {
		r.began = at
	}
	if !o.changed || before == nil || counts(before) != counts(d) {
		o.changed, o.moved, o.stirred = true, at, at
	}
	if o.verdict == "" && d.Status.ObservedGeneration >= d.Generation {
		o.end(at, d)
	}
}

func counts(d *appsv1.Deployment) [4]int32 {
	s := d.Status
	return [4]int32{s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas}
}

// end sees whether that was the end.
func (o *outcome) end(at time.Time, d *appsv1.Deployment) {
	want := *d.Spec.Replicas
	switch {
	case counts(d) == [4]int32{want, want, want, want}:
		o.verdict, o.ended = v1alpha1.Complete, at
	case progress(d) == "ProgressDeadlineExceeded":
		o.verdict, o.ended = v1alpha1.DeadlineExceeded, at
	}
}

func progress(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Reason
		}
	}
	return ""
}

// since counts from the change. What its own watch tells a moment before the
// Deployment's tells of the change is a consequence all the same.
func (r *reality) since(at time.Time) time.Duration {
	if r.began.IsZero() {
		return 0
	}
	return max(0, at.Sub(r.began))
}

func (r *reality) takeSet(at time.Time, rs *appsv1.ReplicaSet) {
	if size, known := r.sizes.now[rs.Name]; known && size == *rs.Spec.Replicas {
		return
	}
	r.sizes.scaled(r.since(at), rs.Name, *rs.Spec.Replicas)
	if o := r.apps[rs.Labels["app"]]; o != nil {
		o.moved, o.stirred = at, at
	}
}

func (r *reality) takePod(e seen, pod *corev1.Pod) {
	r.pods[pod.Name] = pod
	if e.verb == watch.Deleted {
		delete(r.pods, pod.Name)
	}
	name := pod.Labels["app"]
	if o := r.apps[name]; o != nil {
		active, available := r.count(name, e.at)
		o.peak, o.least, o.stirred = max(o.peak, active), min(o.least, available), e.at
	}
}

// count is a Deployment's pods at a moment: those that stay, and those of them
// that have been ready for minReadySeconds, which counts from a whole second on.
func (r *reality) count(name string, at time.Time) (active, available int32) {
	var needed time.Duration
	if d := r.seen[name]; d != nil {
		needed = time.Duration(d.Spec.MinReadySeconds) * time.Second
	}
	for _, pod := range r.pods {
		if pod.Labels["app"] != name || pod.DeletionTimestamp != nil {
			continue
		}
		active++
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.Add(needed).After(at) {
				available++
			}
		}
	}
	return active, available
}

// still is how long nothing has to move to be taken for the end. It is longer
// than pods take, and than any deadline of the scenarios.
const still = 11 * time.Second

// over tells whether every Deployment has come to an end.
func (r *reality) over(now time.Time) bool {
	for _, o := range r.apps {
		if o.verdict == "" && (!o.changed || now.Sub(o.stirred) < still) {
			return false
		}
	}
	return true
}

// rolled is the result, once it is over.
func (r *reality) rolled() rolled {
	out := rolled{sets: r.sizes.order, steps: r.sizes.steps, apps: map[string]pods{}}
	worst := v1alpha1.NothingToDo
	for name, o := range r.apps {
		out.apps[name] = o.pods
		verdict, ended := o.verdict, o.ended
		if verdict == "" {
			verdict, ended = v1alpha1.Stuck, o.moved
			if r.seen[name].Spec.Paused {
				verdict = v1alpha1.Paused
			}
		}
		if verdict.WorseThan(worst) {
			worst = verdict
		}
		out.took = max(out.took, ended.Sub(r.began))
	}
	out.verdict = string(worst)
	slices.SortStableFunc(out.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return out
}
