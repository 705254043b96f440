package predict

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// nodeAge is how long made-up nodes have been there.
const nodeAge = 24 * time.Hour

// addNodes makes nodes up where the input has none: those its pods are bound
// to, or the three of --nodes' default, or more when that is too few for the pods.
func (s *scene) addNodes(o *Options) {
	if s.snapshot != nil {
		s.addClusterNodes(o)
		return
	}
	known := 0
	for _, item := range s.all() {
		if _, ok := item.Object.(*corev1.Node); ok {
			known++
		}
	}
	if known > 0 && !o.Nodes.Explicit {
		s.facts = append(s.facts, plural(known, "node"))
		return
	}
	names := namesOnPods(objects(s.loaded))
	made := o.Nodes.forPods(s.podsAtMost())
	var nodes []manifest.Object
	if len(names) > 0 && !o.Nodes.Explicit {
		nodes = made.named(names)
	} else {
		nodes = made.make()
	}
	for _, node := range nodes {
		node.SetCreationTimestamp(metav1.NewTime(s.start.Add(-nodeAge)))
		s.loaded = append(s.loaded, manifest.Item{Object: node})
	}
	s.facts = append(s.facts, plural(len(nodes), "node")+" (assumed)")
}

func (s *scene) all() []manifest.Item { return slices.Concat(s.loaded, s.settled, s.applied) }

// podsAtMost bounds how many pods the scene's workloads have at once: surge,
// and those that are terminating still.
func (s *scene) podsAtMost() int64 {
	var sum int64
	for _, item := range slices.Concat(s.settled, s.applied) {
		sum += 2 * (wantedPods(item.Object) + surge(item.Object))
	}
	return sum
}

// maxPods is the size of the largest cluster that Kubernetes supports.
const maxPods = 150_000

// checkSize refuses more pods than any cluster has, before they use up all memory.
func (s *scene) checkSize(o *Options) error {
	var extra int64
	if o.Change.Replicas != nil {
		extra = int64(*o.Change.Replicas)
	}
	for _, step := range s.story.Steps {
		if step.Replicas != nil {
			extra = max(extra, int64(*step.Replicas))
		}
	}
	if extra > maxPods {
		return fmt.Errorf("%d replicas: no more than %d pods are simulated, the most that Kubernetes supports in a cluster", extra, maxPods)
	}
	for _, item := range s.all() {
		if n := wantedPods(item.Object); n > maxPods {
			return &exit.At{Source: item.Source, Err: fmt.Errorf("%s wants %d pods: no more than %d are simulated, the most that Kubernetes supports in a cluster",
				manifest.Name(item.Object), n, maxPods)}
		}
	}
	return nil
}

func wantedPods(obj manifest.Object) int64 {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return max(int64(rollout.Desired(o)), 0)
	case *appsv1.ReplicaSet:
		return max(int64(rollout.Size(o)), 0)
	}
	return 0
}

func surge(obj manifest.Object) int64 {
	if d, ok := obj.(*appsv1.Deployment); ok {
		return max(int64(rollout.MaxSurge(d)), 0)
	}
	return 0
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// describe says what is assumed of pods.
func (s *scene) describe(o *Options) {
	switch text := s.measuredText(); {
	case o.Never != "":
		s.facts = append(s.facts, "new pods never ready: "+string(o.Never))
	case o.ReadyAfter != nil:
		s.facts = append(s.facts, "ready after "+rangeText(*o.ReadyAfter))
	case text != "":
		s.facts = append(s.facts, "ready after "+text)
	default:
		s.describeStart()
	}
	if o.ExitAfter != nil {
		s.facts = append(s.facts, "gone after "+rangeText(*o.ExitAfter))
	} else {
		s.facts = append(s.facts, "gone after "+s.rangeOf(exitAfter)+" (assumed)")
		if slices.ContainsFunc(s.specs(), vague) {
			s.facts = append(s.facts, "hooks of unknown length take no time (assumed)")
		}
	}
	if len(s.story.Pods) > 0 {
		s.facts = append(s.facts, "but as the scenario says of the pods it matches")
	}
}

// describeStart says what is assumed of the start of pods that nobody has measured.
func (s *scene) describeStart() {
	specs := s.specs()
	if slices.ContainsFunc(specs, func(spec *corev1.PodSpec) bool { return len(spec.InitContainers) > 0 }) {
		s.facts = append(s.facts, fmt.Sprintf("init containers take %s each (assumed)", assumedInit))
	}
	if slices.ContainsFunc(specs, probed) {
		s.facts = append(s.facts, "ready by their probes, answered from "+s.rangeOf(answersAfter)+" on (assumed)")
	}
	if slices.ContainsFunc(specs, func(spec *corev1.PodSpec) bool { return !probed(spec) }) {
		s.facts = append(s.facts, "ready after "+assumedReady.String()+" (assumed)")
	}
}

// specs are those of the workloads' pods.
func (s *scene) specs() (out []*corev1.PodSpec) {
	for _, item := range s.all() {
		if spec := podSpec(item.Object); spec != nil && slices.Contains(s.workloads, ref(item.Object)) {
			out = append(out, spec)
		}
	}
	return out
}

// rangeOf words what is assumed of the workloads' pods.
func (s *scene) rangeOf(assume func(*corev1.PodSpec) time.Duration) string {
	var all []time.Duration
	for _, spec := range s.specs() {
		all = append(all, assume(spec))
	}
	return rangeText(kubelet.Range{Low: slices.Min(all), High: slices.Max(all)})
}

func podSpec(obj manifest.Object) *corev1.PodSpec {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec
	}
	return nil
}

func rangeText(r kubelet.Range) string {
	if r.Low == r.High {
		return r.Low.String()
	}
	return r.Low.String() + " to " + r.High.String()
}

// behaviour says how pods behave, to the kubelets.
type behaviour struct {
	options *Options
	scene   *scene
	stored  sim.Reader
	// healthy are the ReplicaSets whose pods become ready in spite of --never-ready.
	healthy map[string]bool
	started bool
}

func (b *behaviour) profile(pod *corev1.Pod) kubelet.Profile {
	p := kubelet.Profile{
		ReadyAfter: kubelet.Exactly(assumedReady), ExitAfter: kubelet.Exactly(assumedExit), ExitsCleanly: true,
		Probed: true, AnswersAfter: kubelet.Exactly(answersAfter(&pod.Spec)), InitFor: kubelet.Exactly(assumedInit),
	}
	if times, ok := b.scene.measured[workloadOf(b.stored, pod)]; ok {
		p.ReadyAfter = kubelet.Range{Low: times.Low, High: times.High}
		p.Probed, p.InitFor = false, kubelet.Range{}
	}
	p.Never = b.scene.standing(pod, ownerOf(pod))
	if b.options.ReadyAfter != nil {
		p.ReadyAfter = *b.options.ReadyAfter
		p.Probed, p.InitFor = false, kubelet.Range{}
	}
	if b.options.ExitAfter != nil {
		p.ExitAfter, p.HooksIncluded = *b.options.ExitAfter, true
	}
	if b.started && b.options.Never != "" && !b.healthy[ownerOf(pod)] {
		p.Never = b.options.Never
	}
	return p
}

func ownerOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return pod.Namespace + "/" + owner.Name
	}
	return ""
}

// failing marks the ReplicaSet of a Deployment's present template, or a
// ReplicaSet itself, as one whose new pods do not become ready.
func (b *behaviour) failing(obj manifest.Object, owned []*appsv1.ReplicaSet) {
	switch o := obj.(type) {
	case *appsv1.ReplicaSet:
		delete(b.healthy, o.Namespace+"/"+o.Name)
	case *appsv1.Deployment:
		if target := rollout.Split(o, owned).New; target != nil {
			delete(b.healthy, target.Namespace+"/"+target.Name)
		}
	}
}
