package predict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// look takes from a cluster's pods how long they take and which of them fail.
func (s *scene) look() {
	if s.snapshot == nil {
		return
	}
	s.measured = map[trace.Ref]live.Times{}
	for _, at := range s.workloads {
		if obj := s.snapshot.Find(at); obj != nil {
			if times, ok := s.snapshot.Measure(obj); ok {
				s.measured[at] = times
			}
		}
	}
	s.failing = s.failingSets()
	s.addClasses()
}

// addClasses makes up the priority classes that the change names where classes
// cannot be read: the server has agreed to them.
func (s *scene) addClasses() {
	if s.snapshot.ClassesKnown() {
		return
	}
	known := map[string]bool{"": true}
	for _, class := range s.snapshot.Classes {
		known[class.Name] = true
	}
	see := func(obj manifest.Object) {
		if spec := podSpec(obj); spec != nil && !known[spec.PriorityClassName] && !strings.HasPrefix(spec.PriorityClassName, "system-") {
			known[spec.PriorityClassName] = true
			s.loaded = append(s.loaded, manifest.Item{Object: live.MakeClass(spec.PriorityClassName, 0)})
		}
	}
	for _, item := range s.all() {
		see(item.Object)
	}
	for _, at := range s.targets {
		if answer := s.answers[at]; answer != nil {
			see(answer)
		}
	}
}

// measuredText words the times of the workloads together; empty when any is unknown.
func (s *scene) measuredText() string {
	var all live.Times
	for i, at := range s.workloads {
		times, ok := s.measured[at]
		if !ok {
			return ""
		}
		if i == 0 {
			all = times
			continue
		}
		all.Mean, all.P95 = max(all.Mean, times.Mean), max(all.P95, times.P95)
		all.Pods += times.Pods
	}
	if all.Pods == 0 {
		return ""
	}
	return fmt.Sprintf("%s (p95 %s, measured on %s)", all.Mean, all.P95, plural(all.Pods, "pod"))
}

// failingSets are the ReplicaSets of which pods fail and none is ready: their
// next pods will fail the same way.
func (s *scene) failingSets() map[string]kubelet.Never {
	out := map[string]kubelet.Never{}
	ready := map[string]bool{}
	for _, pod := range s.snapshot.Pods {
		owner := ownerOf(pod)
		if rollout.IsPodReady(pod) {
			ready[owner] = true
		}
		if why := s.failure(pod); why != "" && owner != "" && out[owner] == "" {
			out[owner] = why
		}
	}
	for owner := range ready {
		delete(out, owner)
	}
	for _, owner := range sortedKeys(out) {
		s.facts = append(s.facts, fmt.Sprintf("pods of %s keep failing: %s", owner, out[owner]))
	}
	return out
}

func sortedKeys(m map[string]kubelet.Never) []string {
	out := make([]string, 0, len(m))
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// standing is why a pod of a live cluster will not become ready: what its
// status shows, or what the other pods of its ReplicaSet show.
func (s *scene) standing(pod *corev1.Pod, owner string) kubelet.Never {
	if s.snapshot == nil {
		return ""
	}
	if why := s.failure(pod); why != "" {
		return why
	}
	return s.failing[owner]
}

// imageFailures are reasons for which a container waits and will go on waiting.
var imageFailures = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError"}

// hopeless is how long a pod has to run unready to be taken to stay so: longer
// than slow starters take, where none has told how long that is.
func (s *scene) hopeless(pod *corev1.Pod) time.Duration {
	const doubt, certain = 3 * time.Minute, 30 * time.Second
	slowest := time.Duration(0)
	for _, times := range s.measured {
		slowest = max(slowest, times.High)
	}
	if slowest == 0 {
		return 3*readyAfter(&pod.Spec) + doubt
	}
	return 3*slowest + certain
}

// failure reads a pod's status.
func (s *scene) failure(pod *corev1.Pod) kubelet.Never {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			waiting := list[i].State.Waiting
			switch {
			case waiting == nil:
			case slices.Contains(imageFailures, waiting.Reason):
				return kubelet.ImagePull
			case waiting.Reason == string(kubelet.CrashLoop):
				return kubelet.CrashLoop
			}
		}
	}
	if pod.Status.Phase != corev1.PodRunning || rollout.IsPodReady(pod) || pod.DeletionTimestamp != nil {
		return ""
	}
	began := pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.LastTransitionTime.After(began) {
			began = c.LastTransitionTime.Time
		}
	}
	if s.start.Sub(began) > s.hopeless(pod) {
		return kubelet.Unready
	}
	return ""
}

// unlimited is more pods than a node is ever given.
const unlimited = 1_000_000

// addClusterNodes says what is known of a cluster's nodes, and makes some up
// where nothing is: nodes without limits that fit what the pods ask of a node.
func (s *scene) addClusterNodes(o *Options) {
	if s.snapshot.NodesKnown() {
		s.facts = slices.Insert(s.facts, 0, s.clusterName()+", "+plural(len(s.snapshot.Nodes), "node"))
		return
	}
	made, names := o.Nodes, namesOnPods(objects(s.loaded))
	fact := fmt.Sprintf("%s, %s (assumed)", s.clusterName(), plural(made.Count, "node"))
	if !made.Explicit {
		made.Capacity[corev1.ResourcePods] = *resource.NewQuantity(unlimited, resource.DecimalSI)
		fact = s.clusterName() + ", nodes without limits (assumed)"
	}
	nodes := made.make()
	if len(names) > 0 && !made.Explicit {
		nodes = made.named(names)
	}
	for _, node := range nodes {
		s.fit(node)
		node.SetCreationTimestamp(metav1.NewTime(s.start.Add(-nodeAge)))
		s.loaded = append(s.loaded, manifest.Item{Object: node})
	}
	s.facts = slices.Insert(s.facts, 0, fact)
}

// fit gives a made-up node the labels that the workloads' pods look for.
func (s *scene) fit(node manifest.Object) {
	labels := node.GetLabels()
	for _, item := range s.all() {
		spec := podSpec(item.Object)
		if spec == nil {
			continue
		}
		for key, value := range spec.NodeSelector {
			labels[key] = value
		}
		if a := spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			fitTerm(labels, a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
		}
	}
	node.SetLabels(labels)
}

// fitTerm makes labels fit the first of alternatives.
func fitTerm(labels map[string]string, terms []corev1.NodeSelectorTerm) {
	if len(terms) == 0 {
		return
	}
	for _, e := range terms[0].MatchExpressions {
		switch {
		case e.Operator == corev1.NodeSelectorOpIn && len(e.Values) > 0 && !slices.Contains(e.Values, labels[e.Key]):
			labels[e.Key] = e.Values[0]
		case e.Operator == corev1.NodeSelectorOpExists && labels[e.Key] == "":
			labels[e.Key] = "assumed"
		}
	}
}
