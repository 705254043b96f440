package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	ours "github.com/rollout-sim/kubectl-rollout-sim/plugins/quota"
)

var hardNames = []corev1.ResourceName{"pods", "count/pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
	"ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage", "requests.example.com/gpu", "requests.hugepages-2Mi", "hugepages-2Mi",
	"services", "count/deployments.apps", "requests.storage", "persistentvolumeclaims"}

// quota draws a ResourceQuota.
func (r draw) quota(name string) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	q.Spec.Hard = corev1.ResourceList{}
	for range 1 + r.IntN(3) {
		name := pick(r, hardNames...)
		of := corev1.ResourceName("example.com/gpu")
		switch {
		case slices.Contains([]corev1.ResourceName{"cpu", "requests.cpu", "limits.cpu"}, name):
			of = corev1.ResourceCPU
		case slices.Contains([]corev1.ResourceName{"memory", "requests.memory", "limits.memory"}, name):
			of = corev1.ResourceMemory
		}
		hard := r.amount(of)
		hard.Add(r.amount(of))
		q.Spec.Hard[name] = hard
	}
	for range r.IntN(2) {
		q.Spec.Scopes = append(q.Spec.Scopes, pick(r, corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
			corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeCrossNamespacePodAffinity))
	}
	if r.chance(20) {
		need := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: pick(r, corev1.ScopeSelectorOpIn,
			corev1.ScopeSelectorOpNotIn, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist)}
		if need.Operator == corev1.ScopeSelectorOpIn || need.Operator == corev1.ScopeSelectorOpNotIn {
			need.Values = []string{pick(r, "high", "low")}
		}
		q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{need}}
	}
	return q
}

// old draws a pod that is there already, at any point of its life.
func (r draw) old(name string) *corev1.Pod {
	pod := r.pod(name)
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.UID = types.UID(name)
	pod.Status.Phase = pick(r, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed)
	if r.chance(20) {
		grace := int64(30)
		when := metav1.NewTime(begin.Add(pick(r, -time.Minute, -10*time.Second, 20*time.Second)))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &when, &grace
		pod.Finalizers = []string{"example.com/keeps-it"}
	}
	legacyscheme.Scheme.Default(pod) // as the server stored it
	return pod
}

// TestResourceQuota compares refusals by several quotas with pods that are there.
func TestResourceQuota(t *testing.T) {
	each(t, func(t *testing.T, r draw) error {
		var there []sim.Object
		var quotas []corev1.ResourceQuota
		for i := range 1 + r.IntN(2) {
			q := r.quota(fmt.Sprintf("quota-%d", i))
			there, quotas = append(there, q), append(quotas, *q.DeepCopy())
		}
		pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for i := range r.IntN(4) {
			pod := r.old(fmt.Sprintf("old-%d", i))
			there = append(there, pod)
			if err := pods.Add(pod.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		p := through(t, ours.New(), there, r.pod("web"))
		if p.invalid() {
			return nil
		}
		err := upstreamQuota(t, quotas, pods, p.judged)
		same(t, p.err, err, quotas, pods.List(), p.judged)
		return err
	})
}

// upstreamQuota is the quota controller's count and the admission plugin's answer to it.
func upstreamQuota(t *testing.T, quotas []corev1.ResourceQuota, pods cache.Indexer, pod *corev1.Pod) error {
	t.Helper()
	lister := func(schema.GroupVersionResource) (cache.GenericLister, error) {
		return inOrder{cache.NewGenericLister(pods, schema.GroupResource{Resource: "pods"})}, nil
	}
	evaluator := core.NewPodEvaluator(lister, testclock.NewFakeClock(begin))
	for i := range quotas {
		q := &quotas[i]
		used, err := evaluator.UsageStats(quota.UsageStatsOptions{Namespace: namespace, Resources: quota.ResourceNames(q.Spec.Hard),
			Scopes: q.Spec.Scopes, ScopeSelector: q.Spec.ScopeSelector})
		if err != nil {
			t.Fatal(err)
		}
		q.Status.Hard, q.Status.Used = q.Spec.Hard, quota.Mask(used.Used, quota.ResourceNames(q.Spec.Hard))
	}
	_, err := resourcequota.CheckRequest(quotas, creation(internal(t, pod)), evaluator, nil)
	return err
}

// inOrder lists what is in a namespace by name. A lister does in the order of a
// map, and the first pod's way to write a quantity is that of the sum.
type inOrder struct{ cache.GenericLister }

func (l inOrder) ByNamespace(namespace string) cache.GenericNamespaceLister {
	return namespaceInOrder{l.GenericLister.ByNamespace(namespace)}
}

type namespaceInOrder struct{ cache.GenericNamespaceLister }

func (l namespaceInOrder) List(selector labels.Selector) ([]runtime.Object, error) {
	all, err := l.GenericNamespaceLister.List(selector)
	slices.SortFunc(all, func(a, b runtime.Object) int {
		return strings.Compare(a.(*corev1.Pod).Name, b.(*corev1.Pod).Name)
	})
	return all, err
}
