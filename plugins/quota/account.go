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
func (a *account) unseen() {
	for name, q := range a.quota.Status.Used {
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

// checkCount holds the number of objects other than pods against count/… quotas,
// and against those of older names.
func checkCount(b *book, req *sim.Request) error {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	use := corev1.ResourceList{corev1.ResourceName("count/" + sim.GroupResource(req.Resource).String()): one}
	if slices.Contains(plainNames, req.Resource) {
		use[corev1.ResourceName(req.Resource)] = one
	}
	for _, a := range b.accounts {
		if scoped(a.quota) {
			continue
		}
		there := len(req.World.List(req.Resource, req.New.GetNamespace()))
		for name := range use {
			if _, limited := a.hard[name]; limited {
				a.used[name] = *resource.NewQuantity(int64(there), resource.DecimalSI)
			}
		}
		if err := a.room(use); err != nil {
			return err
		}
	}
	return nil
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
