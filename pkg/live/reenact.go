package live

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/observed"
)

// Reenacted is what observations of the past tell, as Follow tells it of the present.
type Reenacted struct {
	Events    []trace.Event
	Workloads []trace.Ref
	Started   time.Time
}

// Reenact tells what happened between observations. It is an error when what
// they are about cannot be told: without Deployments it is not known what their
// ReplicaSets are sized for, and without ReplicaSets not whose pods there are.
func Reenact(seen []observed.Observation, v rollout.Version) (*Reenacted, error) {
	out := &Reenacted{}
	var err error
	if out.Workloads, err = observedWorkloads(seen); err != nil {
		return nil, err
	}
	r := &reenactment{versions: map[types.UID]Object{}, clock: &serverClock{}}
	r.clock.now = func() time.Time { return r.at }
	r.f = newFollower(&Cluster{clock: r.clock}, FollowOptions{
		Workloads: out.Workloads, Version: v, Trace: func(e trace.Event) { out.Events = append(out.Events, e) },
	})
	found, happened := r.split(seen)
	if len(happened) == 0 {
		return nil, errors.New("nothing happens in it: every object is there only once, as it was")
	}
	if r.at = happened[0].At; r.at.IsZero() { // objects that tell of no time at all
		r.at = time.Unix(0, 0).UTC()
	}
	out.Started = r.at
	for _, o := range found {
		if o.Object != nil {
			r.f.foresee(o.Object)
		}
	}
	for _, o := range found {
		r.take(o, true)
	}
	r.f.began, r.f.journal.began = true, r.at
	for _, o := range happened {
		if o.At.After(r.at) {
			r.at = o.At
		}
		r.take(o, false)
	}
	return out, nil
}

// observedWorkloads are the Deployments, and the ReplicaSets without one.
func observedWorkloads(seen []observed.Observation) ([]trace.Ref, error) {
	var out, owners []trace.Ref
	sets, pods := false, false
	for _, o := range seen {
		if o.Object == nil {
			continue
		}
		ref := o.Ref
		switch obj := o.Object.(type) {
		case *corev1.Pod:
			pods = pods || metav1.GetControllerOfNoCopy(obj) != nil
			continue
		case *appsv1.ReplicaSet:
			sets = true
			if owner := derive.Owner(obj); owner.Kind == "Deployment" {
				owners = append(owners, owner)
				continue
			}
		case *appsv1.Deployment:
		default:
			continue
		}
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	for _, owner := range owners {
		if !slices.Contains(out, owner) {
			return nil, fmt.Errorf("it has ReplicaSets of deployment %s/%s, but never the Deployment itself", owner.Namespace, owner.Name)
		}
	}
	switch {
	case pods && !sets:
		return nil, errors.New("it has pods, but not the ReplicaSets that own them")
	case len(out) == 0:
		return nil, errors.New("there is no Deployment or ReplicaSet in it")
	}
	return out, nil
}

// reenactment feeds a Follower with what was observed.
type reenactment struct {
	f        *Follower
	at       time.Time
	clock    *serverClock
	versions map[types.UID]Object // as they were last
}

// split tells what was there at the beginning from what happened since, both in order.
func (r *reenactment) split(seen []observed.Observation) (found, happened []observed.Observation) {
	ordered := slices.Clone(seen)
	slices.SortStableFunc(ordered, func(a, b observed.Observation) int {
		if a.Object != nil && b.Object != nil {
			if order, err := resourceversion.CompareResourceVersion(a.Object.GetResourceVersion(), b.Object.GetResourceVersion()); err == nil && order != 0 {
				return order
			}
		}
		return a.At.Compare(b.At)
	})
	first := map[types.UID]bool{}
	for _, o := range ordered {
		if o.Object == nil {
			happened = append(happened, o)
			continue
		}
		known := first[o.Object.GetUID()]
		first[o.Object.GetUID()] = true
		if _, event := o.Object.(*corev1.Event); !event && !known && !isNew(o) {
			found = append(found, before(o))
			if o.Write == nil {
				continue
			}
		}
		happened = append(happened, o)
	}
	slices.SortStableFunc(found, func(a, b observed.Observation) int { return cmp.Compare(kindOrder(a.Object), kindOrder(b.Object)) })
	return found, happened
}

// isNew says that an object was made as it is: nobody has published a status yet.
func isNew(o observed.Observation) bool {
	if o.Write != nil {
		return o.Write.Verb == "create"
	}
	switch obj := o.Object.(type) {
	case *appsv1.Deployment:
		return obj.Status.ObservedGeneration == 0
	case *appsv1.ReplicaSet:
		return obj.Status.ObservedGeneration == 0
	case *corev1.Pod:
		return obj.Spec.NodeName == "" && len(obj.Status.Conditions) == 0
	}
	return false
}

// before is an object as it is taken to have been before the first write that
// is known: the same, but for a deletion that was just asked for.
func before(o observed.Observation) observed.Observation {
	if o.Write != nil && o.Write.Verb == "delete" {
		obj := o.Object.DeepCopyObject().(Object)
		obj.SetDeletionTimestamp(nil)
		obj.SetDeletionGracePeriodSeconds(nil)
		o.Object = obj
	}
	o.Write, o.Deleted = nil, false
	return o
}

// take hands one observation to the follower.
func (r *reenactment) take(o observed.Observation, initial bool) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.f.journal.mu.Lock()
	defer r.f.journal.mu.Unlock()
	r.f.journal.at = r.at
	if o.Write != nil {
		r.wrote(o)
	}
	obj := r.version(o)
	if obj == nil {
		return
	}
	old := r.versions[obj.GetUID()]
	if old != nil && !o.Deleted && old.GetResourceVersion() == obj.GetResourceVersion() && o.Write == nil {
		return // two streams have it
	}
	signed := sign(obj, old, o)
	r.versions[obj.GetUID()] = signed
	verb := engine.Modified
	if o.Deleted {
		verb = engine.Deleted
	}
	r.f.take(arrival{verb: verb, obj: signed, initial: initial, at: r.at})
}

// version is the object of an observation; of a deletion that shows none, as it was last.
func (r *reenactment) version(o observed.Observation) Object {
	if o.Object != nil {
		return o.Object
	}
	if !o.Deleted {
		return nil
	}
	for _, known := range r.versions {
		if derive.Ref(known) == o.Ref {
			return known
		}
	}
	return nil
}

// wrote tells of a request, and of a pod that was refused.
func (r *reenactment) wrote(o observed.Observation) {
	if o.Ref.Kind == "Event" {
		return
	}
	w, actor := o.Write, userActor(o.Write.User)
	version := ""
	if o.Object != nil {
		version = o.Object.GetResourceVersion()
	}
	seq := r.f.journal.add(trace.Event{Actor: actor, Object: o.Ref, Detail: trace.Wrote{
		Verb: w.Verb, Subresource: w.Subresource, ResourceVersion: version, Code: w.Code, Error: w.Error,
	}})
	if o.Ref.Kind == "Pod" && w.Verb == "create" && w.Code == 403 && w.Subresource == "" {
		set := trace.Ref{Kind: "ReplicaSet", Namespace: o.Ref.Namespace, Name: strings.TrimSuffix(o.Ref.Name, "-")}
		if scaled := r.f.scaled[set]; scaled != 0 {
			seq = scaled
		}
		r.f.journal.add(trace.Event{Cause: seq, Actor: actor, Object: o.Ref, Detail: trace.Rejected{Message: w.Error}})
	}
}

// userActor is the actor behind a user of the API server.
func userActor(user string) string {
	name := user[strings.LastIndex(user, ":")+1:]
	if actor, ok := components[name]; ok {
		return actor
	}
	switch {
	case user == "system:kube-scheduler":
		return trace.ActorScheduler
	case strings.HasPrefix(user, "system:node:"):
		return trace.ActorKubelet
	case strings.HasPrefix(user, "system:serviceaccount:kube-system:"):
		return name
	}
	return user
}

// sign enters the author of a write into the managed fields of what came of it,
// where Follow looks for it: audit logs may leave these out.
func sign(obj, old Object, o observed.Observation) Object {
	if o.Write == nil {
		return obj
	}
	signed := obj.DeepCopyObject().(Object)
	var fields []metav1.ManagedFieldsEntry
	if old != nil {
		fields = slices.Clone(old.GetManagedFields())
	}
	at := metav1.NewTime(o.At)
	signed.SetManagedFields(append(fields, metav1.ManagedFieldsEntry{
		Manager: managerOf(o.Write.User), Operation: metav1.ManagedFieldsOperationUpdate, Time: &at, Subresource: o.Write.Subresource,
	}))
	return signed
}

// managerOf is the field manager of a user: those of a control plane are known by name.
func managerOf(user string) string {
	switch actor := userActor(user); actor {
	case trace.ActorScheduler:
		return schedulerManager
	case trace.ActorKubelet:
		return "kubelet"
	case trace.ActorDeployment, trace.ActorReplicaSet:
		return controllerManager
	default:
		return actor
	}
}
