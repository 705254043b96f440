package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
)

// occasion is a kind of change that may let a pod in that was refused before.
type occasion uint8

const (
	podGone       occasion = 1 << iota // a pod left its node
	podPlaced                          // a pod came to a node, or its labels changed
	nodeAdded                          // a node is new
	nodeChanged                        // a node's labels, taints, room or schedulability changed
	nodeGone                           // a node was deleted
	volumeChanged                      // a volume, a claim or a class is new or changed
)

// change is an occasion with what it is about.
type change struct {
	what      occasion
	pod       *corev1.Pod  // that came or went
	was, node *corev1.Node // was is nil for a node that is new
}

// The helps methods say whether a change may undo a filter's refusal of a pod:
// upstream's queueing hints, in each filter's EventsToRegister.

func (nodeName) helps(_ *cluster, _ *corev1.Pod, ch change) bool { return ch.what&nodeAdded != 0 }

func (unschedulable) helps(_ *cluster, pod *corev1.Pod, ch change) bool {
	if ch.what&(nodeAdded|nodeChanged) == 0 {
		return false
	}
	if ch.was != nil {
		return ch.was.Spec.Unschedulable && !ch.node.Spec.Unschedulable
	}
	return !ch.node.Spec.Unschedulable || tolerates(pod.Spec.Tolerations, &cordoned)
}

func (taints) helps(_ *cluster, pod *corev1.Pod, ch change) bool {
	if ch.what&(nodeAdded|nodeChanged) == 0 || hardTaint(ch.node, pod.Spec.Tolerations) != nil {
		return false
	}
	return ch.was == nil || hardTaint(ch.was, pod.Spec.Tolerations) != nil
}

func (nodeAffinity) helps(c *cluster, pod *corev1.Pod, ch change) bool {
	if ch.what&(nodeAdded|nodeChanged) == 0 {
		return false
	}
	affinity := c.view(c.groupOf(pod)).affinity
	if ok, err := affinity.Match(ch.node); !ok || err != nil {
		return err != nil
	}
	if ch.was == nil {
		return true
	}
	ok, err := affinity.Match(ch.was)
	return !ok || err != nil
}

func (nodePorts) helps(_ *cluster, pod *corev1.Pod, ch change) bool {
	if ch.what&podGone == 0 {
		return ch.what&nodeAdded != 0
	}
	freed := ports{}
	for _, p := range hostPorts(ch.pod) {
		freed.add(p, 1)
	}
	for _, p := range hostPorts(pod) {
		if freed.taken(p) {
			return true
		}
	}
	return false
}

func (fit) helps(c *cluster, pod *corev1.Pod, ch change) bool {
	if ch.what&(nodeAdded|nodeChanged) == 0 {
		return ch.what&podGone != 0
	}
	asked, room := c.requests(pod).asked, amountsOf(ch.node.Status.Allocatable)
	pods := ch.node.Status.Allocatable[corev1.ResourcePods]
	if !room.holds(asked) || pods.Value() < 1 {
		return false
	}
	if ch.was == nil {
		return true
	}
	before := ch.was.Status.Allocatable[corev1.ResourcePods]
	return pods.Value() > before.Value() || room.eases(amountsOf(ch.was.Status.Allocatable), asked)
}

// holds says whether an empty node of this size has room for a pod.
func (a amounts) holds(asked amounts) bool {
	for name, v := range asked.others {
		if v > a.others[name] {
			return false
		}
	}
	return asked.cpu <= a.cpu && asked.memory <= a.memory && asked.storage <= a.storage
}

// eases says whether anything that is asked for has become more.
func (a amounts) eases(before, asked amounts) bool {
	for name, v := range asked.others {
		if v > 0 && a.others[name] > before.others[name] {
			return true
		}
	}
	return asked.cpu > 0 && a.cpu > before.cpu || asked.memory > 0 && a.memory > before.memory ||
		asked.storage > 0 && a.storage > before.storage
}

func (volumeRestrictions) helps(_ *cluster, pod *corev1.Pod, ch change) bool {
	return ch.what&(nodeAdded|volumeChanged) != 0 || ch.what&podGone != 0 && ch.pod.Namespace == pod.Namespace
}

func (volumeBinding) helps(_ *cluster, _ *corev1.Pod, ch change) bool {
	return ch.what&(nodeAdded|nodeChanged|volumeChanged) != 0
}

func (volumeZone) helps(_ *cluster, _ *corev1.Pod, ch change) bool {
	return ch.what&(nodeAdded|nodeChanged|volumeChanged) != 0
}

func (spread) helps(c *cluster, pod *corev1.Pod, ch change) bool {
	rules := c.view(c.groupOf(pod)).hard
	if ch.what&(podGone|podPlaced) != 0 {
		for _, r := range rules {
			if ch.pod.Namespace == pod.Namespace && r.selector.Matches(labels.Set(ch.pod.Labels)) {
				return true
			}
		}
		return false
	}
	if ch.what&(nodeAdded|nodeChanged|nodeGone) == 0 {
		return false
	}
	is := labelled(ch.node, rules)
	if ch.was == nil {
		return is
	}
	return is != labelled(ch.was, rules) || is && (moved(ch, rules) || !equality.Semantic.DeepEqual(ch.was.Spec.Taints, ch.node.Spec.Taints))
}

func labelled(n *corev1.Node, rules []*rule) bool {
	for _, r := range rules {
		if _, ok := n.Labels[r.top.key]; !ok {
			return false
		}
	}
	return true
}

func moved(ch change, rules []*rule) bool {
	for _, r := range rules {
		if ch.was.Labels[r.top.key] != ch.node.Labels[r.top.key] {
			return true
		}
	}
	return false
}

func (interPod) helps(c *cluster, pod *corev1.Pod, ch change) bool {
	g := c.groupOf(pod)
	o := c.view(g)
	switch {
	case ch.what&podPlaced != 0:
		return matchesAll(o.wants, c.groupOf(ch.pod), c.namespaceLabels)
	case ch.what&podGone != 0:
		gone := c.groupOf(ch.pod)
		return matchesAny(o.avoids, gone, c.namespaceLabels) || matchesAny(gone.anti, g, c.namespaceLabels)
	case ch.what&nodeAdded != 0:
		for i := range o.wants {
			if _, ok := ch.node.Labels[o.wants[i].key]; ok {
				return true
			}
		}
		return len(o.avoids) > 0
	case ch.what&nodeChanged != 0:
		return o.relabelled(ch)
	}
	return false
}

// relabelled says whether a node came nearer to what the pod wants, or left
// what it avoids.
func (o *outlook) relabelled(ch change) bool {
	for i := range o.wants {
		was, had := ch.was.Labels[o.wants[i].key]
		is, has := ch.node.Labels[o.wants[i].key]
		if has && (!had || was != is) {
			return true
		}
	}
	for i := range o.avoids {
		was, had := ch.was.Labels[o.avoids[i].key]
		is, has := ch.node.Labels[o.avoids[i].key]
		if had && (!has || was != is) {
			return true
		}
	}
	return false
}

func matchesAny(terms []term, g *group, spaces namespaceLabels) bool {
	for i := range terms {
		if terms[i].matches(g, spaces) {
			return true
		}
	}
	return false
}
