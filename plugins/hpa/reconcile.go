package hpa

import (
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// look is one pass over one autoscaler (horizontal.go reconcileAutoscaler).
type look struct {
	*Plugin
	m   *memory
	hpa *autoscalingv2.HorizontalPodAutoscaler // a copy, its status in the making
	was *autoscalingv2.HorizontalPodAutoscalerStatus
	now time.Time

	resource        string
	scale           *autoscalingv1.Scale
	pods            []*corev1.Pod // of the target, as cached
	lowest, current int32

	// unsettled says that a later pass may do what this one did not.
	unsettled bool
}

func newLook(p *Plugin, m *memory, hpa *autoscalingv2.HorizontalPodAutoscaler) *look {
	l := &look{Plugin: p, m: m, hpa: hpa.DeepCopy(), now: p.h.Now(), lowest: 1}
	l.was = l.hpa.Status.DeepCopy()
	if hpa.Spec.MinReplicas != nil {
		l.lowest = *hpa.Spec.MinReplicas
	}
	return l
}

func (l *look) reconcile() error {
	if err := l.read(); err != nil {
		l.warn("FailedGetScale", err.Error())
		l.set(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale", fmt.Sprintf("the HPA controller was unable to get the target's current scale: %v", err))
		return errors.Join(err, l.write())
	}
	l.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	if l.m.recommendations == nil {
		l.m.recommendations = []recommendation{{l.current, l.now}}
	}
	p, err := l.propose()
	if p.failed {
		l.status(l.hpa.Status.DesiredReplicas, p.metrics, false)
		writeErr := l.write()
		l.warn("FailedComputeMetricsReplicas", err.Error())
		return errors.Join(err, writeErr)
	}
	if p.replicas != l.current {
		if rescaleErr := l.rescale(p); rescaleErr != nil {
			return rescaleErr
		}
	}
	l.status(p.replicas, p.metrics, p.replicas != l.current)
	return errors.Join(l.write(), err)
}

// read gets the target's scale from the API server, and its pods from the cache.
func (l *look) read() (err error) {
	l.resource, _ = targetResource(l.hpa)
	l.scale, err = l.h.Scale(l.resource, l.hpa.Namespace, l.hpa.Spec.ScaleTargetRef.Name)
	if err != nil {
		return err
	}
	l.current = l.scale.Spec.Replicas
	return nil
}

// proposal is the size that an autoscaler wants, and why.
type proposal struct {
	replicas int32
	reason   string
	metrics  []autoscalingv2.MetricStatus
	failed   bool // there is none
}

// propose says what size the target should have. A size out of bounds is
// brought back without a look at metrics or windows.
func (l *look) propose() (proposal, error) {
	toZero := l.h.Version().AutoscalesToZero()
	scaledToZero := toZero && l.hasCondition(autoscalingv2.ScaledToZero)
	switch highest := l.hpa.Spec.MaxReplicas; {
	case l.current == 0 && !(scaledToZero && (l.lowest != 0 || l.hasValueMetric())):
		l.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
		if !toZero {
			l.unset(autoscalingv2.ScaledToZero)
		}
		return proposal{}, nil
	case l.current > highest:
		return proposal{replicas: highest, reason: "Current number of replicas above Spec.MaxReplicas"}, nil
	case l.current != 0 && l.current < l.lowest:
		return proposal{replicas: l.lowest, reason: "Current number of replicas below Spec.MinReplicas"}, nil
	}
	return l.proposeByMetrics(scaledToZero)
}

func (l *look) proposeByMetrics(scaledToZero bool) (proposal, error) {
	m, err := l.measure()
	if err != nil && m.replicas < 0 {
		return proposal{failed: true, metrics: m.statuses}, err
	}
	if m.none {
		return proposal{replicas: l.current, metrics: l.hpa.Status.CurrentMetrics}, nil
	}
	p := proposal{metrics: m.statuses}
	switch {
	case m.replicas > l.current:
		p.reason = m.metric + " above target"
	case m.replicas < l.current:
		p.reason = "All metrics below target"
	}
	p.replicas = l.normalize(m.replicas)
	if l.current == 0 && l.lowest != 0 && scaledToZero && p.replicas < l.lowest {
		p.replicas = l.lowest
		if p.reason == "" {
			p.reason = "Current number of replicas below Spec.MinReplicas"
		}
	}
	l.unsettled = l.unsettled || m.replicas < l.current && p.replicas == l.current && l.current > l.lowest
	return p, err
}

// normalize brings what metrics ask for within windows and limits
// (normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors).
func (l *look) normalize(wanted int32) int32 {
	b := l.hpa.Spec.Behavior
	stable := advice{reason: "ScaleDownStabilized", message: "recent recommendations were higher than current one, applying the highest recent recommendation"}
	if b == nil {
		stable.replicas = l.m.stabilize(wanted, l.now)
	} else {
		stable = l.m.stabilizeBy(b, l.current, wanted, l.now)
	}
	if stable.replicas == wanted {
		stable.reason, stable.message = "ReadyForNewScale", "recommended size matches current size"
	}
	l.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, stable.reason, stable.message)
	var out advice
	if b == nil {
		out = limit(l.current, stable.replicas, l.lowest, l.hpa.Spec.MaxReplicas)
	} else {
		out = l.m.limitBy(b, l.current, stable.replicas, l.lowest, l.hpa.Spec.MaxReplicas, l.now)
	}
	limited := corev1.ConditionFalse
	if out.replicas != stable.replicas {
		limited = corev1.ConditionTrue
	}
	l.set(autoscalingv2.ScalingLimited, limited, out.reason, out.message)
	return out.replicas
}

// attempts at a write that conflicts (client-go retry.DefaultRetry).
const attempts = 5

// rescale sets the target's size, and says so.
func (l *look) rescale(p proposal) error {
	l.unsettled = true
	err := l.writeScale(p.replicas)
	if err != nil {
		l.warn("FailedRescale", fmt.Sprintf("New size: %d; reason: %s; error: %v", p.replicas, p.reason, err))
		l.set(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedUpdateScale", fmt.Sprintf("the HPA controller was unable to update the target scale: %v", err))
		l.status(l.hpa.Status.DesiredReplicas, p.metrics, false)
		return errors.Join(err, l.write())
	}
	l.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale", fmt.Sprintf("the HPA controller was able to update the target scale to %d", p.replicas))
	l.h.Event(l.hpa, corev1.EventTypeNormal, "SuccessfulRescale", fmt.Sprintf("New size: %d; reason: %s", p.replicas, p.reason))
	l.m.rescaled(l.hpa.Spec.Behavior, l.current, p.replicas, l.now)
	switch {
	case !l.h.Version().AutoscalesToZero():
		l.unset(autoscalingv2.ScaledToZero)
	case p.replicas == 0 && l.lowest == 0 && l.hasValueMetric():
		l.set(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero", "the HPA controller scaled the workload to zero")
	default:
		l.set(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
	}
	return nil
}

// writeScale updates the scale subresource, on its newest version after a conflict.
func (l *look) writeScale(replicas int32) (err error) {
	for range attempts {
		l.scale.Spec.Replicas = replicas
		if _, err = l.h.UpdateScale(l.resource, l.scale); !apierrors.IsConflict(err) {
			return err
		}
		if latest, getErr := l.h.Scale(l.resource, l.scale.Namespace, l.scale.Name); getErr == nil {
			l.scale = latest
		}
	}
	return err
}

// status is what the pass found (setStatus).
func (l *look) status(desired int32, metrics []autoscalingv2.MetricStatus, rescaled bool) {
	s := &l.hpa.Status
	s.CurrentReplicas, s.DesiredReplicas, s.CurrentMetrics = l.current, desired, metrics
	s.ObservedGeneration = nil
	if l.h.Version().AutoscalerGeneration() {
		generation := l.hpa.Generation
		s.ObservedGeneration = &generation
	}
	if rescaled {
		now := metav1.NewTime(l.now)
		s.LastScaleTime = &now
	}
}

// write stores a status that changed (updateStatusIfNeeded).
func (l *look) write() error {
	if equality.Semantic.DeepEqual(l.was, &l.hpa.Status) {
		return nil
	}
	if _, err := l.h.UpdateStatus(l.hpa); err != nil {
		l.warn("FailedUpdateStatus", err.Error())
		return fmt.Errorf("failed to update status for %s: %w", l.hpa.Name, err)
	}
	return nil
}

func (l *look) warn(reason, message string) {
	l.h.Event(l.hpa, corev1.EventTypeWarning, reason, message)
}

// selectorOf is the selector of an autoscaler's target as its scale shows it.
func selectorOf(world sim.Reader, hpa *autoscalingv2.HorizontalPodAutoscaler) (labels.Selector, error) {
	resource, _ := targetResource(hpa)
	obj, ok := world.Get(resource, hpa.Namespace, hpa.Spec.ScaleTargetRef.Name)
	if !ok {
		return nil, errNoPods
	}
	return sim.SelectorOf(obj)
}

// podsBy are the pods of a namespace that a selector fits.
func podsBy(world sim.Reader, namespace string, selector labels.Selector) (out []*corev1.Pod) {
	for _, obj := range world.List(sim.Pods, namespace) {
		if pod, ok := obj.(*corev1.Pod); ok && selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod)
		}
	}
	return out
}
