package sim

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

// now is the present as the API stores it: whole seconds.
func (w *World) now() metav1.Time {
	if n := &w.second; n.at != w.loop.now || n.date.IsZero() {
		n.at, n.date = w.loop.now, metav1.NewTime(w.loop.Now().Truncate(time.Second))
	}
	return w.second.date
}

// prepareCreate sets what only the server may set on a new object.
func (s *server) prepareCreate(k *kind, obj Object) {
	obj.SetUID(newUID(s.store.uids))
	obj.SetCreationTimestamp(s.world.now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	obj.SetGeneration(0)
	if k.counts(s.world.cfg.Version) {
		obj.SetGeneration(1)
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Status = appsv1.DeploymentStatus{}
	case *appsv1.ReplicaSet:
		o.Status = appsv1.ReplicaSetStatus{}
	case *corev1.Pod:
		syncAppArmor(o)
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: s.templates.qos(o)}
		if len(o.Spec.SchedulingGates) > 0 {
			o.Status.Conditions = []corev1.PodCondition{s.gated()}
		}
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.Status = autoscalingv2.HorizontalPodAutoscalerStatus{}
	}
	normalize(obj)
}

// gated is what a new pod with scheduling gates says of itself.
func (s *server) gated() corev1.PodCondition {
	return corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: s.world.now(),
		Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
	}
}

// prepareUpdate merges a request into the stored object by the rules of its
// kind: what this request may not touch is taken from old, without a word where
// the server says none (upstream rest.BeforeUpdate).
func (s *server) prepareUpdate(obj, old Object, subresource string) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if _, isPod := obj.(*corev1.Pod); isPod && subresource == "status" || old.GetDeletionTimestamp() != nil {
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetGeneration(old.GetGeneration())
	obj.SetResourceVersion(old.GetResourceVersion())
	if subresource == "status" {
		keepSpec(obj, old)
	} else if keepStatus(obj, old) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	normalize(obj)
}

// keepSpec is the status strategy of each kind. Annotations pass: that is how
// the revision reaches a Deployment.
func keepSpec(obj, old Object) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		was := old.(*appsv1.Deployment)
		o.Spec, o.Labels = was.Spec, was.Labels
	case *appsv1.ReplicaSet:
		o.Spec = old.(*appsv1.ReplicaSet).Spec
	case *corev1.Pod:
		was := old.(*corev1.Pod)
		o.Spec, o.OwnerReferences = was.Spec, was.OwnerReferences
		if o.Status.QOSClass == "" {
			o.Status.QOSClass = was.Status.QOSClass
		}
		keepObserved(&o.Status, &was.Status)
	case *corev1.Node:
		o.Spec = old.(*corev1.Node).Spec
	case *policyv1.PodDisruptionBudget:
		o.Spec = old.(*policyv1.PodDisruptionBudget).Spec
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.Spec = old.(*autoscalingv2.HorizontalPodAutoscaler).Spec
	}
}

// keepObserved fills in the generations that a status leaves out, condition by
// condition: kubelets of older releases know none.
func keepObserved(is, was *corev1.PodStatus) {
	if is.ObservedGeneration == 0 {
		is.ObservedGeneration = was.ObservedGeneration
	}
	copied := false
	for i := range is.Conditions {
		had := generationOf(was.Conditions, is.Conditions[i].Type, earlier(is.Conditions[:i], is.Conditions[i].Type))
		if is.Conditions[i].ObservedGeneration != 0 || had == 0 {
			continue
		}
		if !copied {
			is.Conditions, copied = slices.Clone(is.Conditions), true
		}
		is.Conditions[i].ObservedGeneration = had
	}
}

// earlier counts the conditions of a type; nothing forbids several.
func earlier(conditions []corev1.PodCondition, of corev1.PodConditionType) (n int) {
	for i := range conditions {
		if conditions[i].Type == of {
			n++
		}
	}
	return n
}

// generationOf is what the condition of a type has observed, past so many others of it.
func generationOf(conditions []corev1.PodCondition, of corev1.PodConditionType, skip int) int64 {
	for i := range conditions {
		if conditions[i].Type != of {
			continue
		}
		if skip == 0 {
			return conditions[i].ObservedGeneration
		}
		skip--
	}
	return 0
}

// keepStatus is the main strategy of each kind; it reports whether the
// generation moves. A Deployment's moves with its annotations too.
func keepStatus(obj, old Object) (moved bool) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		was := old.(*appsv1.Deployment)
		o.Status = was.Status
		return !equality.Semantic.DeepEqual(&o.Spec, &was.Spec) || !equality.Semantic.DeepEqual(o.Annotations, was.Annotations)
	case *appsv1.ReplicaSet:
		was := old.(*appsv1.ReplicaSet)
		o.Status = was.Status
		return !ptr.Equal(o.Spec.Replicas, was.Spec.Replicas) || !equality.Semantic.DeepEqual(&o.Spec, &was.Spec)
	case *corev1.Pod:
		was := old.(*corev1.Pod)
		o.Status = was.Status
		return o.Generation > 0 && !equality.Semantic.DeepEqual(&o.Spec, &was.Spec)
	case *corev1.Node:
		o.Status = old.(*corev1.Node).Status
	case *policyv1.PodDisruptionBudget:
		was := old.(*policyv1.PodDisruptionBudget)
		o.Status = was.Status
		return !equality.Semantic.DeepEqual(&o.Spec, &was.Spec)
	case *autoscalingv2.HorizontalPodAutoscaler:
		was := old.(*autoscalingv2.HorizontalPodAutoscaler)
		o.Status = was.Status
		return o.Generation > 0 && !equality.Semantic.DeepEqual(&o.Spec, &was.Spec)
	}
	return false
}

// unchanged reports whether a write would store what is stored already.
func unchanged(obj, old Object) bool {
	if obj.GetResourceVersion() != old.GetResourceVersion() || obj.GetGeneration() != old.GetGeneration() {
		return false
	}
	if !ptr.Equal(obj.GetDeletionGracePeriodSeconds(), old.GetDeletionGracePeriodSeconds()) {
		return false
	}
	return !plainlyChanged(obj, old) && equality.Semantic.DeepEqual(obj, old)
}

// plainlyChanged spares the long comparison for the changes that rollouts
// mostly see: the counts of workloads and the phases and conditions of pods.
func plainlyChanged(obj, old Object) bool {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		is, was := &o.Status, &old.(*appsv1.Deployment).Status
		return is.Replicas != was.Replicas || is.UpdatedReplicas != was.UpdatedReplicas ||
			is.ReadyReplicas != was.ReadyReplicas || is.AvailableReplicas != was.AvailableReplicas ||
			is.UnavailableReplicas != was.UnavailableReplicas || !ptr.Equal(is.TerminatingReplicas, was.TerminatingReplicas)
	case *appsv1.ReplicaSet:
		is, was := &o.Status, &old.(*appsv1.ReplicaSet).Status
		return is.Replicas != was.Replicas || is.ReadyReplicas != was.ReadyReplicas || is.AvailableReplicas != was.AvailableReplicas ||
			is.ObservedGeneration != was.ObservedGeneration || !ptr.Equal(is.TerminatingReplicas, was.TerminatingReplicas)
	case *corev1.Pod:
		return podPlainlyChanged(&o.Status, &old.(*corev1.Pod).Status)
	}
	return false
}

func podPlainlyChanged(is, was *corev1.PodStatus) bool {
	if is.Phase != was.Phase || len(is.Conditions) != len(was.Conditions) {
		return true
	}
	for i := range is.Conditions {
		if is.Conditions[i].Status != was.Conditions[i].Status || is.Conditions[i].Type != was.Conditions[i].Type {
			return true
		}
	}
	return false
}

// normalize stores an object as its JSON would be read back: whole seconds,
// and nothing where an empty list or map stood.
func normalize(obj Object) {
	if len(obj.GetLabels()) == 0 {
		obj.SetLabels(nil)
	}
	if len(obj.GetAnnotations()) == 0 {
		obj.SetAnnotations(nil)
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Status.Conditions = truncated(o.Status.Conditions, func(c *appsv1.DeploymentCondition) (a, b *metav1.Time) {
			return &c.LastTransitionTime, &c.LastUpdateTime
		})
	case *appsv1.ReplicaSet:
		o.Status.Conditions = truncated(o.Status.Conditions, func(c *appsv1.ReplicaSetCondition) (a, b *metav1.Time) {
			return &c.LastTransitionTime, &c.LastTransitionTime
		})
	case *corev1.Pod:
		o.Status.Conditions = truncated(o.Status.Conditions, func(c *corev1.PodCondition) (a, b *metav1.Time) {
			return &c.LastTransitionTime, &c.LastProbeTime
		})
	case *corev1.Node:
		o.Status.Conditions = truncated(o.Status.Conditions, func(c *corev1.NodeCondition) (a, b *metav1.Time) {
			return &c.LastTransitionTime, &c.LastHeartbeatTime
		})
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.Status.Conditions = truncated(o.Status.Conditions, func(c *autoscalingv2.HorizontalPodAutoscalerCondition) (a, b *metav1.Time) {
			return &c.LastTransitionTime, &c.LastTransitionTime
		})
		if at := o.Status.LastScaleTime; at != nil {
			whole := metav1.NewTime(at.Truncate(time.Second))
			o.Status.LastScaleTime = &whole
		}
	}
}

// truncated returns the list with both times of its items cut to whole seconds;
// the list given is changed in no case.
func truncated[T any](items []T, times func(*T) (a, b *metav1.Time)) []T {
	if len(items) == 0 {
		return nil
	}
	copied := false
	for i := range items {
		if a, b := times(&items[i]); a.Nanosecond() == 0 && b.Nanosecond() == 0 {
			continue
		}
		if !copied {
			items, copied = slices.Clone(items), true
		}
		a, b := times(&items[i])
		a.Time, b.Time = a.Truncate(time.Second), b.Truncate(time.Second)
	}
	return items
}

// templates remembers what defaulting made of each pod template, so that the
// pods of one ReplicaSet share one defaulted spec. A template is known by its
// first container, which no stored object ever changes.
type templates struct {
	specs map[*corev1.Container]*corev1.PodSpec
	valid map[*corev1.Container]corev1.PodQOSClass
	// complete are specs of loaded pods that lacked nothing.
	complete map[likeness]*corev1.PodSpec
}

func newTemplates() templates {
	return templates{specs: map[*corev1.Container]*corev1.PodSpec{}, valid: map[*corev1.Container]corev1.PodQOSClass{}}
}

// fill defaults a new object, leaving alone what it shares with others.
func (t *templates) fill(obj Object) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec = *o.Spec.DeepCopy()
		defaults.Deployment(o)
	case *appsv1.ReplicaSet:
		o.Spec = *o.Spec.DeepCopy()
		defaults.ReplicaSet(o)
	case *corev1.Pod:
		t.fillPod(o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.Spec = *o.Spec.DeepCopy()
		defaults.Autoscaler(o)
	case *corev1.LimitRange:
		o.Spec = *o.Spec.DeepCopy()
		defaults.LimitRange(o)
	}
}

// refill defaults what replaces a stored object. One that still has the stored
// object's template, as a controller's own write does, keeps sharing it.
func (t *templates) refill(obj, old Object) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		if sameContainers(o.Spec.Template, old.(*appsv1.Deployment).Spec.Template) {
			defaults.Deployment(o)
			return
		}
	case *appsv1.ReplicaSet:
		if sameContainers(o.Spec.Template, old.(*appsv1.ReplicaSet).Spec.Template) {
			defaults.ReplicaSet(o)
			return
		}
	}
	t.fill(obj)
}

// sameContainers says that two templates share one list of containers, and so
// everything that was read with it.
func sameContainers(a, b corev1.PodTemplateSpec) bool {
	x, y := a.Spec.Containers, b.Spec.Containers
	return len(x) > 0 && len(x) == len(y) && &x[0] == &y[0]
}

func (t *templates) fillPod(pod *corev1.Pod) {
	key, owner := firstContainer(pod), metav1.GetControllerOfNoCopy(pod)
	if spec, ok := t.specs[key]; ok && owner != nil {
		pod.Spec = *spec
		return
	}
	pod.Spec = *pod.Spec.DeepCopy()
	defaults.Pod(pod)
	if key != nil && owner != nil {
		spec := pod.Spec
		t.specs[key] = &spec
	}
}

// qos is the pod's quality of service, known once a spec.
func (t *templates) qos(pod *corev1.Pod) corev1.PodQOSClass {
	key := firstContainer(pod)
	if q, ok := t.valid[key]; ok && key != nil {
		return q
	}
	return defaults.QOSClass(pod)
}

func firstContainer(pod *corev1.Pod) *corev1.Container {
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	return &pod.Spec.Containers[0]
}
