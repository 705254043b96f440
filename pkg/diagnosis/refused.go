package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// exceeded is the quota admission plugin's message, which may name several
// quotas after one another.
var exceeded = regexp.MustCompile(`exceeded quota: ([^,]+), requested: ([^\s]+), used: ([^\s]+), limited: ([^\s]+?)(?:, |$|;)`)

// quotas are those that the last refusals name. Each is raised by what one pod
// asks, or else by what all missing ones do.
func (p *patient) quotas() []relaxation {
	var found []relaxation
	for _, symptom := range p.symptoms {
		if symptom.Type != "FailedCreate" {
			continue
		}
		for _, m := range exceeded.FindAllStringSubmatch(symptom.Message, -1) {
			requested, used, limited := amounts(m[2]), amounts(m[3]), amounts(m[4])
			r := relaxation{Constraint: v1alpha1.Constraint{
				Type: v1alpha1.ConstraintQuota, Object: trace.Ref{Kind: "ResourceQuota", Namespace: p.Object.Namespace, Name: m[1]},
				Message: fmt.Sprintf("quota %q: %s", m[1], full(used, limited, requested)),
			}}
			missing := p.missing(symptom.Object)
			for _, n := range slices.Compact([]int{1, missing}) {
				r.ways = append(r.ways, p.raise(m[1], used, requested, n))
			}
			found = append(found, r)
		}
	}
	return found
}

// missing counts the pods that a ReplicaSet could not make; at least 1.
func (p *patient) missing(set trace.Ref) int {
	for _, s := range p.workload.Sets {
		if s.Object == set {
			n := int(s.Now())
			for _, pod := range p.workload.Pods {
				if pod.Set == s && pod.Active() {
					n--
				}
			}
			return max(n, 1)
		}
	}
	return 1
}

// raise is a quota with room for n more pods.
func (p *patient) raise(name string, used, requested corev1.ResourceList, n int) way {
	needed := corev1.ResourceList{}
	for resource, amount := range requested {
		sum := used[resource].DeepCopy()
		amount = amount.DeepCopy()
		amount.Mul(int64(n))
		sum.Add(amount)
		needed[resource] = sum
	}
	namespace := p.Object.Namespace
	return way{
		change: fmt.Sprintf("raise quota %q to %s", name, text(needed)),
		relaxed: Relaxed{Edit: func(obj Object) Object {
			q, ok := obj.(*corev1.ResourceQuota)
			if !ok || q.Name != name || namespaceOf(q) != namespace {
				return obj
			}
			q = q.DeepCopy()
			for resource, amount := range needed {
				if hard, ok := q.Spec.Hard[resource]; ok && hard.Cmp(amount) < 0 {
					q.Spec.Hard[resource] = amount
				}
			}
			return q
		}},
	}
}

// refusals are requests that the scenario fails, other than by a quota.
func (p *patient) refusals() []relaxation {
	if !p.search.Faulty {
		return nil
	}
	for _, symptom := range p.symptoms {
		if (symptom.Type == "FailedCreate" || symptom.Type == "ReplicaSetCreateError") && !exceeded.MatchString(symptom.Message) {
			return []relaxation{{
				Constraint: v1alpha1.Constraint{Type: v1alpha1.ConstraintRefusal, Object: symptom.Object, Message: symptom.Message},
				ways:       []way{{change: "let the refused requests through", relaxed: Relaxed{Heard: true}}},
			}}
		}
	}
	return nil
}

// amounts reads pods=1,requests.cpu=500m.
func amounts(list string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for pair := range strings.SplitSeq(strings.TrimSuffix(list, ","), ",") {
		name, value, _ := strings.Cut(pair, "=")
		if q, err := resource.ParseQuantity(value); err == nil {
			out[corev1.ResourceName(name)] = q
		}
	}
	return out
}

// text is pods=4,requests.cpu=2, in order of name.
func text(list corev1.ResourceList) string {
	out := make([]string, 0, len(list))
	for _, name := range names(list) {
		out = append(out, fmt.Sprintf("%s=%s", name, quantity(list, name)))
	}
	return strings.Join(out, ",")
}

func full(used, limited, requested corev1.ResourceList) string {
	out := make([]string, 0, len(used))
	for _, name := range names(requested) {
		out = append(out, fmt.Sprintf("%s of %s %s are used, a pod asks for %s",
			quantity(used, name), quantity(limited, name), name, quantity(requested, name)))
	}
	return strings.Join(out, "; ")
}

func quantity(list corev1.ResourceList, name corev1.ResourceName) string {
	q := list[name]
	return q.String()
}

func names(list corev1.ResourceList) []corev1.ResourceName {
	out := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
