package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// lost says whether a node is gone or has fallen silent, and in words why. Of a
// cluster whose nodes could not be read nothing is said.
func (s *Snapshot) lost(name string) (bool, string) {
	if name == "" || len(s.Nodes) == 0 {
		return false, ""
	}
	i := slices.IndexFunc(s.Nodes, func(n *corev1.Node) bool { return n.Name == name })
	if i < 0 {
		return true, "node " + name + " is gone"
	}
	for _, cond := range s.Nodes[i].Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
			return true, strings.TrimSuffix(fmt.Sprintf("node %s is not ready: %s: %s", name, cond.Reason, cond.Message), ": ")
		}
	}
	for _, t := range s.Nodes[i].Spec.Taints {
		if t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady {
			return true, fmt.Sprintf("node %s has the taint %s", name, t.ToString())
		}
	}
	return false, ""
}

// nodeLost is a pod that stands on such a node and was not asked to go yet.
func (c *podCase) nodeLost() (v1alpha1.Finding, bool) {
	lost, why := c.lost(c.pod.Spec.NodeName)
	if !lost {
		return v1alpha1.Finding{}, false
	}
	return v1alpha1.Finding{
		Topic: v1alpha1.TopicNotReady, Cause: v1alpha1.CauseNodeLost, Object: nodeRef(c.pod.Spec.NodeName),
		Message: why, From: "the conditions and taints of its node",
	}, true
}

// eviction is what will throw the pod out, and when: the NoExecute taints of its
// node, by how long the pod tolerates them. (tainteviction processPodOnNode)
func (c *podCase) eviction() (v1alpha1.Finding, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicEviction, Object: nodeRef(c.pod.Spec.NodeName), From: "the taints of its node and its tolerations"}
	i := slices.IndexFunc(c.Nodes, func(n *corev1.Node) bool { return n.Name == c.pod.Spec.NodeName })
	if i < 0 || c.pod.DeletionTimestamp != nil {
		return f, false
	}
	var names []string
	var since time.Time
	after := time.Duration(-1)
	for _, t := range c.Nodes[i].Spec.Taints {
		if t.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		names = append(names, t.ToString())
		if t.TimeAdded != nil && t.TimeAdded.After(since) {
			since = t.TimeAdded.Time // the eviction is decided when the last came
		}
		tolerated, limit := tolerance(c.pod, t)
		if !tolerated {
			f.Message = "it is evicted at once: it does not tolerate " + t.ToString()
			return f, true
		}
		if limit >= 0 && (after < 0 || limit < after) {
			after = limit
		}
	}
	switch {
	case len(names) == 0:
		return f, false
	case after < 0:
		f.Message = "it stays: it tolerates " + strings.Join(names, ", ") + " for ever"
		return f, true
	}
	f.Message = fmt.Sprintf("it is evicted %s after its node got %s, unless that goes", after, strings.Join(names, ", "))
	if !since.IsZero() {
		f.Time = moment(since.Add(after))
	}
	return f, true
}

// tolerance is whether a pod tolerates a taint, and for how long: negative for ever.
func tolerance(pod *corev1.Pod, taint corev1.Taint) (bool, time.Duration) {
	for _, t := range pod.Spec.Tolerations {
		if !t.ToleratesTaint(klog.Logger{}, &taint, false) {
			continue
		}
		if t.TolerationSeconds == nil {
			return true, -1
		}
		return true, max(time.Duration(*t.TolerationSeconds), 0) * time.Second
	}
	return false, 0
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
