package sim

import (
	"errors"
	"fmt"
	"iter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Check holds a trace against what is true of every rollout in which watches are
// seconds late at most and the server's answers are the truth, whatever else the
// world does: causes come before effects and time does not run back; a step of the
// Deployment controller takes no Deployment above replicas and surge; a
// ReplicaSet makes no pod that its size does not ask for. It follows people's
// hands as far as a trace tells of them: a controller reference that a person
// takes off a ReplicaSet, and nobody puts on again, is not told. An error means
// that this program is wrong, not its input. The trace must be of depth Pods at least.
func Check(events []trace.Event) error {
	c := checker{sets: map[trace.Ref]*checkedSet{}, specs: map[trace.Ref]trace.Specified{}}
	for _, e := range events {
		if err := c.take(e); err != nil {
			return fmt.Errorf("event %d at %s: %w", e.Seq, e.Offset, err)
		}
	}
	return nil
}

// inOrder holds a trace against causality alone.
func inOrder(events iter.Seq[trace.Event]) error {
	var last trace.Seq
	var at time.Duration
	for e := range events {
		if e.Seq <= last || e.Cause >= e.Seq || e.Offset < at {
			return fmt.Errorf("event %d at %s: %w", e.Seq, e.Offset, errOrder)
		}
		last, at = e.Seq, e.Offset
	}
	return nil
}

type checker struct {
	last  trace.Event
	specs map[trace.Ref]trace.Specified
	sets  map[trace.Ref]*checkedSet
	// disturbed is until when sizes may be off budget: somebody other than the
	// controller changed one, or the spec, and caches may not know it yet.
	disturbed time.Duration
}

type checkedSet struct {
	owner trace.Ref
	size  int32
	most  int32         // the largest size since the ReplicaSet's pods last fitted it
	extra int32         // pods that came from elsewhere since then
	until time.Duration // when caches have learned of the last smaller size and of these pods
	pods  map[string]bool
}

// cachesLag is how long caches may lag behind a change in a world without faults.
const cachesLag = 5 * time.Second

var (
	errOrder  = errors.New("an effect before its cause")
	errBudget = errors.New("more pods wanted than replicas and surge allow")
	errPods   = errors.New("more pods than the ReplicaSet's size asks for")
)

func (c *checker) take(e trace.Event) error {
	if e.Seq <= c.last.Seq || e.Cause >= e.Seq || e.Offset < c.last.Offset {
		return errOrder
	}
	c.last = e
	switch d := e.Detail.(type) {
	case trace.Specified:
		if was, ok := c.specs[e.Object]; ok && (was.Replicas != d.Replicas || was.Surge != d.Surge) {
			c.disturbed = e.Offset + cachesLag
		}
		c.specs[e.Object] = d
	case trace.Found:
		c.found(e, d)
	case trace.Scaled:
		return c.scaled(e, d)
	case trace.Created:
		return c.created(e, d)
	case trace.PodChanged:
		c.podChanged(e, d)
	case trace.Removed:
		c.left(e)
		c.sets[e.Object].removed(e.Offset)
	case trace.Released:
		c.left(e)
		c.handed(e, trace.Ref{})
	case trace.Adopted:
		c.left(e)
		c.joined(e, d.Owner)
		c.handed(e, d.Owner)
	}
	return nil
}

// handed gives a ReplicaSet to another controller, or none.
func (c *checker) handed(e trace.Event, owner trace.Ref) {
	if set := c.sets[e.Object]; set != nil {
		set.owner = owner
		c.disturbed = e.Offset + cachesLag
	}
}

func (c *checker) podChanged(e trace.Event, d trace.PodChanged) {
	ended := d.Terminating || over(d.Phase)
	if !ended && c.sets[d.Owner].has(e.Object.Name) {
		return
	}
	c.left(e)
	if !ended {
		c.joined(e, d.Owner)
	}
}

func (c *checker) found(e trace.Event, d trace.Found) {
	switch e.Object.Kind {
	case "ReplicaSet":
		c.sets[e.Object] = &checkedSet{owner: d.Owner, size: *d.Replicas, most: *d.Replicas, pods: map[string]bool{}}
	case "Pod":
		if set := c.sets[d.Owner]; set != nil && !over(d.Phase) {
			set.pods[e.Object.Name] = true
			set.most = max(set.most, int32(len(set.pods)))
		}
	}
}

// over reports whether a pod of a phase no longer counts.
func over(phase string) bool {
	return phase == string(corev1.PodFailed) || phase == string(corev1.PodSucceeded)
}

// left forgets a pod that is gone, or another's by now.
func (c *checker) left(e trace.Event) {
	for _, set := range c.sets {
		delete(set.pods, e.Object.Name)
		set.fit(e.Offset)
	}
}

// joined counts a pod that its ReplicaSet did not make: adopted, given to it by
// hand, or come back to life. A pass whose cache does not have it yet makes one
// more than is asked for.
func (c *checker) joined(e trace.Event, owner trace.Ref) {
	if set := c.sets[owner]; set != nil {
		set.pods[e.Object.Name] = true
		set.extra++
		set.until = e.Offset + cachesLag
	}
}

// removed makes place for another ReplicaSet of that name. Until caches know, a
// pass over the former may still make its pods.
func (s *checkedSet) removed(now time.Duration) {
	if s != nil {
		*s = checkedSet{owner: s.owner, extra: s.most + s.extra, until: now + cachesLag, pods: map[string]bool{}}
	}
}

func (s *checkedSet) has(pod string) bool { return s != nil && s.pods[pod] }

// fit lets a former larger size be forgotten once the pods fit the present one
// and no pass can still go by the former.
func (s *checkedSet) fit(now time.Duration) {
	if int32(len(s.pods)) <= s.size && now >= s.until {
		s.most, s.extra = s.size, 0
	}
}

func (c *checker) scaled(e trace.Event, d trace.Scaled) error {
	set := c.sets[e.Object]
	if set == nil {
		set = &checkedSet{pods: map[string]bool{}}
		c.sets[e.Object] = set
	}
	set.owner, set.size, set.most = d.Owner, d.To, max(set.most, d.To)
	if d.To < d.From {
		set.until = e.Offset + cachesLag
	}
	set.fit(e.Offset)
	if e.Actor != trace.ActorDeployment || d.Created {
		// A ReplicaSet is sized at its creation by a cache that may lag; those
		// of others are sized by people.
		c.disturbed = e.Offset + cachesLag
		return nil
	}
	spec, ok := c.specs[set.owner]
	if !ok || d.Why != trace.Room || e.Offset < c.disturbed {
		return nil
	}
	var sum int32
	for _, s := range c.sets {
		if s.owner == set.owner {
			sum += s.size
		}
	}
	if most := spec.Replicas + spec.Surge; sum > most && sum-(d.To-d.From) <= most {
		return fmt.Errorf("%w: %d > %d + %d", errBudget, sum, spec.Replicas, spec.Surge)
	}
	return nil
}

func (c *checker) created(e trace.Event, d trace.Created) error {
	set := c.sets[d.Owner]
	if set == nil || e.Actor != trace.ActorReplicaSet {
		return nil
	}
	set.pods[e.Object.Name] = true
	if most := set.most + set.extra; int32(len(set.pods)) > most {
		return fmt.Errorf("%w: %d > %d", errPods, len(set.pods), most)
	}
	return nil
}

// Finished reports what is wrong with a Deployment that counts as complete: its
// status must be the truth about its pods, and nothing old may be left.
func (w *World) Finished(ref trace.Ref) error {
	d, ok := w.workload(ref).(*appsv1.Deployment)
	if !ok || rollout.DeploymentEnd(d) != rollout.EndComplete {
		return nil
	}
	sets := rollout.Split(d, w.owned(d))
	if sets.New == nil {
		return fmt.Errorf("%s is complete without a ReplicaSet of its template", ref)
	}
	for _, old := range sets.Old {
		if rollout.Size(old) != 0 {
			return fmt.Errorf("%s is complete and ReplicaSet %s still has size %d", ref, old.Name, rollout.Size(old))
		}
	}
	active := 0
	for _, pod := range w.store.PodsOf(d.Namespace, sets.New.Name, sets.New.UID) {
		if rollout.IsPodActive(pod) {
			active++
		}
	}
	if want := int(rollout.Desired(d)); active != want || int(d.Status.AvailableReplicas) != want {
		return fmt.Errorf("%s is complete with %d pods, %d available, of %d", ref, active, d.Status.AvailableReplicas, want)
	}
	return nil
}
