// Package quota is ResourceQuota: the admission that refuses what exceeds one,
// and the bookkeeping of what is used. Pods, and the number of ReplicaSets,
// Deployments and Services, are what it counts.
package quota

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// resync is how often upstream counts everything anew (kube-controller-manager
// --resource-quota-sync-period). Only what time alone changes waits for it.
const resync = 5 * time.Minute

// Plugin is the quota admission plugin and the quota controller in one.
type Plugin struct {
	h     *sim.Hands
	books map[string]*book // by namespace, only of those with a quota
}

// New makes the plugin. It belongs behind all other admission, as upstream.
func New() *Plugin { return &Plugin{books: map[string]*book{}} }

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "quota" }

// Start watches pods, whose end frees what they used, once there is a quota.
func (p *Plugin) Start(h *sim.Hands) {
	p.h = h
	watching := false
	h.Watch(sim.ResourceQuotas, func(engine.Change) {
		if !watching {
			watching = true
			h.Follow(sim.Pods, p.observe)
		}
	})
}

// Mutate changes nothing.
func (p *Plugin) Mutate(*sim.Request) error { return nil }

// Validate refuses a creation that some quota of the namespace does not allow,
// and charges the quotas for one that they do allow.
func (p *Plugin) Validate(req *sim.Request) error {
	if p.h == nil || req.Verb != "create" || req.Subresource != "" || req.New == nil {
		return nil // before the world begins nothing is refused
	}
	quotas := req.World.List(sim.ResourceQuotas, req.New.GetNamespace())
	if len(quotas) == 0 {
		return nil
	}
	b := p.book(req)
	b.setQuotas(quotas)
	pod, isPod := req.New.(*corev1.Pod)
	var err error
	if isPod {
		err = p.checkPod(b, pod, req)
	} else {
		err = checkOther(b, req)
	}
	if err == nil {
		return nil
	}
	refused := apierrors.NewForbidden(sim.GroupResource(req.Resource), req.New.GetName(), err)
	p.h.Emit(sim.RefOf(req.New), trace.Rejected{By: p.Name(), Message: refused.Error()})
	return refused
}

func (p *Plugin) checkPod(b *book, pod *corev1.Pod, req *sim.Request) error {
	use := usage(pod, req.Now)
	err := b.check(pod, use)
	if err != nil && b.sweep(req.World) {
		err = b.check(pod, use)
	}
	if err == nil {
		b.charge(pod, use)
		b.fresh = append(b.fresh, pod)
	}
	return err
}

// book is the accounts of one namespace. Pods are charged when they are
// admitted and discharged when the watch tells of their end, so that no
// creation needs to count.
type book struct {
	accounts []*account
	pods     map[types.UID]*charged
	fresh    []*corev1.Pod // admitted, but not yet seen on the watch
}

type charged struct {
	pod     *corev1.Pod
	use     corev1.ResourceList
	overdue *sim.Timer // when a terminating pod stops counting
}

// book opens the books of a namespace with the pods that are there.
func (p *Plugin) book(req *sim.Request) *book {
	ns := req.New.GetNamespace()
	b, ok := p.books[ns]
	if !ok {
		b = &book{pods: map[types.UID]*charged{}}
		p.books[ns] = b
		for _, obj := range req.World.List(sim.Pods, ns) {
			if pod, ok := obj.(*corev1.Pod); ok {
				b.charge(pod, usage(pod, req.Now))
				p.setOverdue(b, pod)
			}
		}
	}
	return b
}

func (p *Plugin) observe(c engine.Change, _ int) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok {
		return
	}
	b := p.books[pod.Namespace]
	if b == nil {
		return
	}
	b.fresh = slices.DeleteFunc(b.fresh, func(o *corev1.Pod) bool { return o.UID == pod.UID })
	if c.Verb == engine.Deleted {
		if old := b.discharge(pod.UID); old != nil {
			p.h.Stop(old.overdue)
		}
		return
	}
	b.charge(pod, usage(pod, p.h.Now()))
	p.setOverdue(b, pod)
}

// setOverdue lets a terminating pod stop counting when it has overstayed its
// grace period by as much again. Upstream notices at its next full count.
func (p *Plugin) setOverdue(b *book, pod *corev1.Pod) {
	c := b.pods[pod.UID]
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil || c.overdue != nil {
		return
	}
	end := pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second + 1)
	wait := max(end.Sub(p.h.Now()), 0)
	if !p.h.Instant() {
		wait += time.Duration(p.h.Rand().Int64N(int64(resync)))
	}
	c.overdue = p.h.After(wait, func() {
		if now, there := b.pods[pod.UID]; there {
			b.charge(now.pod, usage(now.pod, p.h.Now()))
		}
	})
}

// charge enters what a pod uses, in place of what it was charged before.
func (b *book) charge(pod *corev1.Pod, use corev1.ResourceList) {
	c := b.pods[pod.UID]
	if c == nil {
		c = &charged{}
		b.pods[pod.UID] = c
	} else {
		if equal(c.use, use) {
			c.pod = pod
			return
		}
		b.enter(c, -1)
	}
	c.pod, c.use = pod, use
	b.enter(c, 1)
}

func (b *book) discharge(uid types.UID) *charged {
	c := b.pods[uid]
	if c != nil {
		b.enter(c, -1)
		delete(b.pods, uid)
	}
	return c
}

func (b *book) enter(c *charged, sign int) {
	for _, a := range b.accounts {
		if a.covers(c.pod) {
			a.enter(c.use, sign)
		}
	}
}

// sweep forgets admitted pods whose creation failed after all. It reports
// whether there were any.
func (b *book) sweep(world sim.Reader) bool {
	swept := false
	b.fresh = slices.DeleteFunc(b.fresh, func(pod *corev1.Pod) bool {
		obj, there := world.Get(sim.Pods, pod.Namespace, pod.Name)
		if there && obj.GetUID() == pod.UID {
			return false
		}
		b.discharge(pod.UID)
		swept = true
		return true
	})
	return swept
}

// setQuotas brings the accounts up to date with the quota objects: those that
// are new or changed are counted anew.
func (b *book) setQuotas(objs []sim.Object) {
	if len(objs) == len(b.accounts) && !slices.ContainsFunc(b.accounts, func(a *account) bool { return !slices.Contains(objs, sim.Object(a.quota)) }) {
		return
	}
	old := b.accounts
	b.accounts = nil
	for _, obj := range objs {
		q, ok := obj.(*corev1.ResourceQuota)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(old, func(a *account) bool { return a.quota == q }); i >= 0 {
			b.accounts = append(b.accounts, old[i])
			continue
		}
		a := newAccount(q)
		for _, c := range b.byName() {
			if a.covers(c.pod) {
				a.enter(c.use, 1)
			}
		}
		a.unseen()
		b.accounts = append(b.accounts, a)
	}
	slices.SortFunc(b.accounts, func(x, y *account) int { return cmp.Compare(x.quota.Name, y.quota.Name) })
}

// byName is what pods are charged, in an order that makes sums of quantities
// in different units print the same every time.
func (b *book) byName() []*charged {
	return slices.SortedFunc(maps.Values(b.pods), func(x, y *charged) int {
		return cmp.Or(cmp.Compare(x.pod.Name, y.pod.Name), cmp.Compare(x.pod.UID, y.pod.UID))
	})
}

// check is the first quota's objection to a new pod.
func (b *book) check(pod *corev1.Pod, use corev1.ResourceList) error {
	for _, a := range b.accounts {
		if !a.covers(pod) {
			continue
		}
		if missing := a.missing(pod); missing != "" {
			return fmt.Errorf("failed quota: %s: must specify %s", a.quota.Name, missing)
		}
	}
	for _, a := range b.accounts {
		if a.covers(pod) {
			if err := a.room(use); err != nil {
				return err
			}
		}
	}
	return nil
}
