// Package admission is what the API server does to pods on their way in by
// default: tolerations for failing nodes, priorities, the defaults and bounds of
// LimitRanges, Pod Security, and no new objects in a namespace that is going away.
package admission

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// DefaultSeconds is for how long pods tolerate a failing node unless the API
// server's flags say otherwise.
const DefaultSeconds = 300

// Tolerations is the DefaultTolerationSeconds admission plugin.
type Tolerations struct {
	notReady, unreachable int64
	both                  []corev1.Toleration // what pods share that say nothing at all
}

// NewTolerations takes the seconds of the API server's flags
// --default-not-ready-toleration-seconds and --default-unreachable-toleration-seconds.
func NewTolerations(notReady, unreachable int64) *Tolerations {
	both := []corev1.Toleration{forSeconds(corev1.TaintNodeNotReady, notReady), forSeconds(corev1.TaintNodeUnreachable, unreachable)}
	return &Tolerations{notReady, unreachable, both}
}

// Name is the upstream plugin's.
func (t *Tolerations) Name() string { return "DefaultTolerationSeconds" }

// Start has nothing to begin.
func (t *Tolerations) Start(*sim.Hands) {}

// Validate refuses nothing.
func (t *Tolerations) Validate(*sim.Request) error { return nil }

// Mutate adds the two tolerations to a pod that says nothing of them, at its
// creation and at updates of the pod itself. Neither operator nor value of what
// the pod says is looked at (plugin/pkg/admission/defaulttolerationseconds).
func (t *Tolerations) Mutate(req *sim.Request) error {
	pod, ok := req.New.(*corev1.Pod)
	if !ok || req.Resource != sim.Pods || req.Subresource != "" || req.Verb != "create" && req.Verb != "update" {
		return nil
	}
	if len(pod.Spec.Tolerations) == 0 {
		pod.Spec.Tolerations = t.both
		return nil
	}
	added := pod.Spec.Tolerations[:len(pod.Spec.Tolerations):len(pod.Spec.Tolerations)]
	if !mentions(pod, corev1.TaintNodeNotReady) {
		added = append(added, forSeconds(corev1.TaintNodeNotReady, t.notReady))
	}
	if !mentions(pod, corev1.TaintNodeUnreachable) {
		added = append(added, forSeconds(corev1.TaintNodeUnreachable, t.unreachable))
	}
	pod.Spec.Tolerations = added
	return nil
}

func mentions(pod *corev1.Pod, key string) bool {
	for _, t := range pod.Spec.Tolerations {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

func forSeconds(key string, seconds int64) corev1.Toleration {
	return corev1.Toleration{
		Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
	}
}
