package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	ours "github.com/rollout-sim/kubectl-rollout-sim/plugins/admission"
)

// limits draws a LimitRange. There is one only: in which order several count is
// the order of a map upstream.
func (r draw) limits() *corev1.LimitRange {
	out := &corev1.LimitRange{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"}, ObjectMeta: metav1.ObjectMeta{Name: "limits", Namespace: namespace}}
	for range 1 + r.IntN(2) {
		item := corev1.LimitRangeItem{Type: pick(r, corev1.LimitTypeContainer, corev1.LimitTypeContainer, corev1.LimitTypePod)}
		if r.chance(40) {
			item.Max = r.list(35, names...)
		}
		if r.chance(40) {
			item.Min = r.list(35, names...)
		}
		if r.chance(25) {
			item.MaxLimitRequestRatio = r.list(35, names[:3]...)
		}
		if item.Type == corev1.LimitTypeContainer {
			item.Default, item.DefaultRequest = r.list(40, names[:3]...), r.list(40, names[:3]...)
		}
		out.Spec.Limits = append(out.Spec.Limits, item)
	}
	return out
}

func upstreamLimits(t *testing.T) (*limitranger.LimitRanger, informers.SharedInformerFactory) {
	t.Helper()
	plugin, err := limitranger.NewLimitRanger(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetReadyFunc(func() bool { return true })
	return plugin, factory
}

// TestLimitRanger compares what is filled in and what is refused.
func TestLimitRanger(t *testing.T) {
	upstream, factory := upstreamLimits(t)
	store := factory.Core().V1().LimitRanges().Informer().GetStore()
	each(t, func(t *testing.T, r draw) error {
		ranges, pod := r.limits(), r.pod("web")
		p := through(t, ours.NewLimitRanger(), []sim.Object{ranges.DeepCopy()}, pod)
		if p.before == nil {
			t.Fatal("the pod never came to the plugin")
		}
		legacyscheme.Scheme.Default(ranges)
		if err := store.Add(ranges); err != nil {
			t.Fatal(err)
		}
		in := internal(t, p.before)
		if err := upstream.Admit(context.Background(), creation(in), nil); err != nil {
			t.Fatal(err)
		}
		filled := external(t, in)
		for i, c := range filled.Spec.Containers {
			alike(t, p.after.Spec.Containers[i].Resources, c.Resources)
		}
		for i, c := range filled.Spec.InitContainers {
			alike(t, p.after.Spec.InitContainers[i].Resources, c.Resources)
		}
		alike(t, p.after.Annotations, filled.Annotations)
		if p.invalid() { // a default request above its limit, say
			return nil
		}
		err := upstream.Validate(context.Background(), creation(internal(t, p.judged)), nil)
		same(t, p.err, err, ranges, p.judged)
		return err
	})
}
