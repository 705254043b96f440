package quota

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// account is one quota with what is used of it by the pods it covers.
type account struct {
	quota *corev1.ResourceQuota
	hard  corev1.ResourceList
	used  corev1.ResourceList
}

func newAccount(q *corev1.ResourceQuota) *account {
	a := &account{quota: q, hard: q.Spec.Hard, used: corev1.ResourceList{}}
	for name := range a.hard {
		zero := a.hard[name].DeepCopy()
		zero.Set(0)
		a.used[name] = zero
	}
	return a
}

// unseen raises the use of a quota that comes with a status to what the status
// says: what uses the rest is not part of this world, and does not change.
func (a *account) unseen() { a.raise(a.quota.Status.Used) }

func (a *account) raise(to corev1.ResourceList) {
	for name, q := range to {
		if have, counted := a.used[name]; counted && q.Cmp(have) > 0 && !strings.HasPrefix(string(name), "count/") {
			a.used[name] = q.DeepCopy()
		}
	}
}

// enter adds or takes away what a pod uses.
func (a *account) enter(use corev1.ResourceList, sign int) {
	for name, q := range use {
		have, counted := a.used[name]
		if !counted {
			continue
		}
		if sign > 0 {
			have.Add(q)
		} else {
			have.Sub(q)
		}
		a.used[name] = have
	}
}

// room objects when the quota would be exceeded (apiserver
// admission/plugin/resourcequota/controller.go CheckRequest).
func (a *account) room(use corev1.ResourceList) error {
	var over []corev1.ResourceName
	for name, q := range use {
		hard, limited := a.hard[name]
		if !limited || q.IsZero() {
			continue
		}
		total := a.used[name].DeepCopy()
		total.Add(q)
		if total.Cmp(hard) > 0 {
			over = append(over, name)
		}
	}
	if len(over) == 0 {
		return nil
	}
	slices.Sort(over)
	return fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s",
		a.quota.Name, listed(over, use), listed(over, a.used), listed(over, a.hard))
}

func listed(names []corev1.ResourceName, from corev1.ResourceList) string {
	out := make([]string, len(names))
	for i, name := range names {
		q := from[name]
		out[i] = string(name) + "=" + q.String()
	}
	return strings.Join(out, ",")
}

// plainNames are the kinds that a quota may also count by their name alone.
var plainNames = []string{sim.Services, sim.PersistentVolumeClaims, sim.ResourceQuotas}

// checkOther holds objects other than pods against the quotas.
func checkOther(b *book, req *sim.Request) error {
	use := usageOf(req.Resource, req.New)
	for _, a := range b.accounts {
		if scoped(a.quota) {
			continue
		}
		a.recount(use, req)
		if err := a.room(use); err != nil {
			return err
		}
	}
	return nil
}

// usageOf is what an object other than a pod is charged for: itself, and what a
// claim asks for, under the name of its class too (pkg/quota/v1/evaluator/core
// persistent_volume_claims.go Usage; the others count objects alone).
func usageOf(kind string, obj sim.Object) corev1.ResourceList {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	use := corev1.ResourceList{corev1.ResourceName("count/" + sim.GroupResource(kind).String()): one}
	if slices.Contains(plainNames, kind) {
		use[corev1.ResourceName(kind)] = one
	}
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return use
	}
	asked, asks := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if asks {
		use[corev1.ResourceRequestsStorage] = asked
	}
	if class := classOf(claim); class != "" {
		of := corev1.ResourceName(class + ".storageclass.storage.k8s.io/")
		use[of+corev1.ResourcePersistentVolumeClaims] = one
		if asks {
			use[of+corev1.ResourceRequestsStorage] = asked
		}
	}
	return use
}

// classOf is the class of a claim, by the old annotation or by name.
func classOf(claim *corev1.PersistentVolumeClaim) string {
	if class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	if name := claim.Spec.StorageClassName; name != nil {
		return *name
	}
	return ""
}

// recount sets what is used of these resources to what the objects of a
// request's kind that are there use, and those that are not of this world.
func (a *account) recount(of corev1.ResourceList, req *sim.Request) {
	for name := range of {
		if hard, limited := a.hard[name]; limited {
			a.used[name] = *resource.NewQuantity(0, hard.Format)
		}
	}
	for _, obj := range req.World.List(req.Resource, req.New.GetNamespace()) {
		for name, q := range usageOf(req.Resource, obj) {
			if _, asked := of[name]; asked {
				a.enter(corev1.ResourceList{name: q}, 1)
			}
		}
	}
	said := corev1.ResourceList{}
	for name := range of {
		if q, ok := a.quota.Status.Used[name]; ok {
			said[name] = q
		}
	}
	a.raise(said)
}

func scoped(q *corev1.ResourceQuota) bool {
	return len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil
}

func equal(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}
