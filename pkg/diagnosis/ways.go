package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// relaxation is a constraint and how it can be relaxed: the least first.
type relaxation struct {
	v1alpha1.Constraint
	ways []way
}

// way is a world in which a constraint is relaxed, and what one does for it.
type way struct {
	change  string
	relaxed Relaxed
	// measured words the change by what came of it; nil means change as it is.
	measured func(*v1alpha1.WorkloadStatus) string
}

func (w way) words(result *v1alpha1.WorkloadStatus) string {
	if w.measured != nil {
		return w.measured(result)
	}
	return w.change
}

// relaxations are those worth trying, by what the patient suffers from.
func (p *patient) relaxations() []relaxation {
	var found []relaxation
	for _, each := range []func() []relaxation{
		p.quotas, p.refusals, p.nodes, p.placement, p.volumes, p.lostNodes, p.containers, p.strategy, p.deadline,
	} {
		found = append(found, each()...)
	}
	return found
}

func (p *patient) constraint(kind v1alpha1.ConstraintType, format string, args ...any) v1alpha1.Constraint {
	return v1alpha1.Constraint{Type: kind, Message: fmt.Sprintf(format, args...), Object: p.Object}
}

// suffers says whether a symptom is of one of the types.
func (p *patient) suffers(types ...string) bool {
	return slices.ContainsFunc(p.symptoms, func(r v1alpha1.Reason) bool { return slices.Contains(types, r.Type) })
}

// hears says whether a symptom's message has a text, which is a fact of the scheduler's.
func (p *patient) hears(text string) bool {
	return slices.ContainsFunc(p.symptoms, func(r v1alpha1.Reason) bool { return strings.Contains(r.Message, text) })
}

// template is the pod template of a workload, and what selects its pods.
func (s *search) template(ref trace.Ref) (*corev1.PodTemplateSpec, *metav1.LabelSelector) {
	for _, obj := range s.Objects {
		if obj.GetNamespace() != ref.Namespace || obj.GetName() != ref.Name {
			continue
		}
		switch o := obj.(type) {
		case *appsv1.Deployment:
			if ref.Kind == "Deployment" {
				return &o.Spec.Template, o.Spec.Selector
			}
		case *appsv1.ReplicaSet:
			if ref.Kind == "ReplicaSet" {
				return &o.Spec.Template, o.Spec.Selector
			}
		}
	}
	return &corev1.PodTemplateSpec{}, &metav1.LabelSelector{}
}

// object edits the workload itself where it is a Deployment.
func (p *patient) object(change func(*appsv1.DeploymentSpec)) Relaxed {
	at := p.Object
	return Relaxed{Edit: func(obj Object) Object {
		d, ok := obj.(*appsv1.Deployment)
		if !ok || at.Kind != "Deployment" || d.Name != at.Name || namespaceOf(d) != at.Namespace {
			return obj
		}
		d = d.DeepCopy()
		change(&d.Spec)
		return d
	}}
}

// pods edits the workload's pods: those that are there, and the templates that
// they and others are made of, all alike, so that equal templates stay equal.
func (p *patient) pods(change func(*corev1.PodSpec)) Relaxed {
	at, selector := p.Object, selectorOf(p.selector)
	return Relaxed{Edit: func(obj Object) Object {
		if namespaceOf(obj) != at.Namespace {
			return obj
		}
		switch o := obj.(type) {
		case *appsv1.Deployment:
			if at.Kind == "Deployment" && o.Name == at.Name {
				o = o.DeepCopy()
				change(&o.Spec.Template.Spec)
				return o
			}
		case *appsv1.ReplicaSet:
			if selector.Matches(labels.Set(o.Spec.Template.Labels)) {
				o = o.DeepCopy()
				change(&o.Spec.Template.Spec)
				return o
			}
		case *corev1.Pod:
			if selector.Matches(labels.Set(o.Labels)) {
				o = o.DeepCopy()
				change(&o.Spec)
				return o
			}
		}
		return obj
	}}
}

// well lets the workload's pods become ready.
func (p *patient) well() Relaxed {
	namespace, selector := p.Object.Namespace, selectorOf(p.selector)
	return Relaxed{Well: func(pod *corev1.Pod) bool {
		return pod.Namespace == namespace && selector.Matches(labels.Set(pod.Labels))
	}}
}

func selectorOf(s *metav1.LabelSelector) labels.Selector {
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return out
}

// namespaceOf is where an object goes that may not have come there yet.
func namespaceOf(obj Object) string {
	if ns := obj.GetNamespace(); ns != "" {
		return ns
	}
	return metav1.NamespaceDefault
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// unscheduled counts the pods that have no node; at least 1.
func (p *patient) unscheduled() int {
	n := 0
	for _, pod := range p.workload.Pods {
		if pod.Active() && pod.Node == "" {
			n++
		}
	}
	return max(n, 1)
}
