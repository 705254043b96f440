package deployment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// table is a list of objects in the order they were first put.
type table struct{ objects []object }

func (t *table) index(kind, namespace, name string) int {
	return slices.IndexFunc(t.objects, func(o object) bool {
		return kindOf(o) == kind && o.GetNamespace() == namespace && o.GetName() == name
	})
}

// get is an untyped nil when there is none.
func (t *table) get(kind, namespace, name string) object {
	if i := t.index(kind, namespace, name); i >= 0 {
		return t.objects[i]
	}
	return nil
}

func (t *table) put(obj object) {
	if i := t.index(kindOf(obj), obj.GetNamespace(), obj.GetName()); i >= 0 {
		t.objects[i] = obj
		return
	}
	t.objects = append(t.objects, obj)
}

func (t *table) remove(obj object) {
	if i := t.index(kindOf(obj), obj.GetNamespace(), obj.GetName()); i >= 0 {
		t.objects = slices.Delete(t.objects, i, i+1)
	}
}

func list[T object](t *table, keep func(T) bool) []T {
	var out []T
	for _, o := range t.objects {
		if obj, ok := o.(T); ok && keep(obj) {
			out = append(out, obj)
		}
	}
	return out
}

// cache is a table as the controller reads it.
type cache struct{ t *table }

func (c cache) Deployment(namespace, name string) (*appsv1.Deployment, error) {
	return find[*appsv1.Deployment](c.t, "Deployment", namespace, name)
}

func (c cache) ReplicaSet(namespace, name string) (*appsv1.ReplicaSet, error) {
	return find[*appsv1.ReplicaSet](c.t, "ReplicaSet", namespace, name)
}

func find[T object](t *table, kind, namespace, name string) (T, error) {
	if obj, ok := t.get(kind, namespace, name).(T); ok {
		return obj, nil
	}
	var none T
	return none, apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: strings.ToLower(kind)}, name)
}

func (c cache) Deployments(namespace string) []*appsv1.Deployment {
	return list(c.t, func(d *appsv1.Deployment) bool { return d.Namespace == namespace })
}

func (c cache) ReplicaSets(namespace string) []*appsv1.ReplicaSet {
	return list(c.t, func(rs *appsv1.ReplicaSet) bool { return rs.Namespace == namespace })
}

func (c cache) ReplicaSetsOf(owner types.UID) []*appsv1.ReplicaSet {
	return list(c.t, func(rs *appsv1.ReplicaSet) bool { return controlledBy(rs, owner) })
}

func (c cache) PodsOf(namespace, _ string, uid types.UID) []*corev1.Pod {
	return list(c.t, func(p *corev1.Pod) bool { return p.Namespace == namespace && controlledBy(p, uid) })
}

func (c cache) OrphanPods(string) []*corev1.Pod { return nil }
func (c cache) PodsIn(string) []*corev1.Pod     { return nil }
func (c cache) LastSynced(string) string        { return "" }

func controlledBy(obj metav1.Object, owner types.UID) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	return ref != nil && ref.UID == owner
}

// queue is a rate-limited work queue whose delays wait for the test's clock.
type queue struct {
	now      func() time.Time
	ready    []engine.Key
	delayed  []delayed
	failures map[engine.Key]int
}

type delayed struct {
	key engine.Key
	at  time.Time
}

func (q *queue) Add(key engine.Key) {
	if !slices.Contains(q.ready, key) {
		q.ready = append(q.ready, key)
	}
}

func (q *queue) AddAfter(key engine.Key, delay time.Duration) {
	at := q.now().Add(delay)
	for i := range q.delayed {
		if q.delayed[i].key == key {
			if at.Before(q.delayed[i].at) {
				q.delayed[i].at = at
			}
			return
		}
	}
	q.delayed = append(q.delayed, delayed{key, at})
}

func (q *queue) AddRateLimited(key engine.Key) {
	delay := 5 * time.Millisecond << q.failures[key]
	q.failures[key]++
	q.AddAfter(key, delay)
}

func (q *queue) NumRequeues(key engine.Key) int { return q.failures[key] }
func (q *queue) Forget(key engine.Key)          { delete(q.failures, key) }

func (q *queue) pop() (engine.Key, bool) {
	if len(q.ready) == 0 {
		return engine.Key{}, false
	}
	key := q.ready[0]
	q.ready = q.ready[1:]
	return key, true
}

// due is the first delayed key that falls due by a time.
func (q *queue) due(by time.Time) (*engine.Key, time.Time) {
	first := -1
	for i, d := range q.delayed {
		if !d.at.After(by) && (first < 0 || d.at.Before(q.delayed[first].at)) {
			first = i
		}
	}
	if first < 0 {
		return nil, time.Time{}
	}
	return &q.delayed[first].key, q.delayed[first].at
}

func (q *queue) wake(key engine.Key) {
	q.delayed = slices.DeleteFunc(q.delayed, func(d delayed) bool { return d.key == key })
	q.Add(key)
}

// describe is what of an object a story shows.
func describe(obj runtime.Object, status bool) string {
	switch o := obj.(type) {
	case *appsv1.ReplicaSet:
		return fmt.Sprintf("replicas=%d rev=%s%s desired=%s max=%s", rollout.Size(o), o.Annotations[rollout.RevisionAnnotation],
			history(o), o.Annotations[rollout.DesiredReplicasAnnotation], o.Annotations[rollout.MaxReplicasAnnotation])
	case *appsv1.Deployment:
		if !status {
			return fmt.Sprintf("image=%s annotations=%v", o.Spec.Template.Spec.Containers[0].Image, o.Annotations)
		}
		s := o.Status
		return fmt.Sprintf("rev=%s obsGen=%d replicas=%d updated=%d ready=%d available=%d unavailable=%d terminating=%s%s %s",
			o.Annotations[rollout.RevisionAnnotation], s.ObservedGeneration, s.Replicas, s.UpdatedReplicas, s.ReadyReplicas,
			s.AvailableReplicas, s.UnavailableReplicas, number(s.TerminatingReplicas), collisions(s), conditions(s))
	}
	return ""
}

func history(rs *appsv1.ReplicaSet) string {
	if h := rs.Annotations[rollout.RevisionHistoryAnnotation]; h != "" {
		return " history=" + h
	}
	return ""
}

func collisions(s appsv1.DeploymentStatus) string {
	if s.CollisionCount == nil {
		return ""
	}
	return " collisions=" + number(s.CollisionCount)
}

func number(n *int32) string {
	if n == nil {
		return "nil"
	}
	return fmt.Sprint(*n)
}

func conditions(s appsv1.DeploymentStatus) string {
	out := []string{}
	for _, c := range s.Conditions {
		out = append(out, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return fmt.Sprint(out)
}

// explain is a detail of the trace in one line.
func explain(detail trace.Detail) string {
	arithmetic := func(rule trace.Rule, terms []trace.Term, result int32) string {
		s := string(rule) + ":"
		for _, t := range terms {
			s += fmt.Sprintf(" %s%+d", t.Name, t.Value)
		}
		return fmt.Sprintf("%s = %d", s, result)
	}
	switch d := detail.(type) {
	case trace.Budgeted:
		return "budget " + arithmetic(d.Rule, d.Terms, d.Result)
	case trace.Held:
		return "hold " + arithmetic(d.Why, d.Terms, d.Result)
	case trace.Requeued:
		return fmt.Sprintf("requeued after %s for %s", d.After, d.Why)
	}
	return fmt.Sprintf("%s %+v", detail.Type(), detail)
}
