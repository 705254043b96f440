package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	ours "github.com/rollout-sim/kubectl-rollout-sim/plugins/admission"
)

func upstreamSecurity(t *testing.T) (*podsecurity.Plugin, informers.SharedInformerFactory) {
	t.Helper()
	all := admission.NewPlugins()
	podsecurity.Register(all)
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	made, err := all.InitPlugin(podsecurity.PluginName, nil, initializer(func(i admission.Interface) {
		plugin := i.(*podsecurity.Plugin)
		plugin.InspectEffectiveVersion(compatibility.NewEffectiveVersionFromString("1.37", "", ""))
		plugin.SetExternalKubeClientSet(client)
		plugin.SetExternalKubeInformerFactory(factory)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return made.(*podsecurity.Plugin), factory
}

type initializer func(admission.Interface)

func (f initializer) Initialize(plugin admission.Interface) { f(plugin) }

// TestPodSecurity compares refusals, all levels and versions.
func TestPodSecurity(t *testing.T) {
	upstream, factory := upstreamSecurity(t)
	store := factory.Core().V1().Namespaces().Informer().GetStore()
	each(t, func(t *testing.T, r draw) error {
		ns := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{}}}
		if level := pick(r, "privileged", "baseline", "restricted", "baseline", "restricted", "strict", ""); level != "" {
			ns.Labels["pod-security.kubernetes.io/enforce"] = level
		}
		if version := pick(r, "", "", "latest", "v1.8", "v1.22", "v1.25", "v1.34", "v1.36", "v1.99", "newest", "v01.2"); version != "" {
			ns.Labels["pod-security.kubernetes.io/enforce-version"] = version
		}
		pod := r.pod("web")
		r.insecure(pod)
		p := through(t, ours.NewPodSecurity(), []sim.Object{ns.DeepCopy()}, pod)
		if p.invalid() {
			return nil
		}
		if err := store.Add(ns); err != nil {
			t.Fatal(err)
		}
		err := upstream.Validate(context.Background(), creation(internal(t, p.judged)), nil)
		same(t, p.err, err, ns, p.judged)
		return err
	})
}
