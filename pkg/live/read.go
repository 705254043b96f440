package live

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/version"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Query says what to read.
type Query struct {
	// Workloads are the Deployments and ReplicaSets the plan is about. A
	// ReplicaSet's Deployment is read with it.
	Workloads []trace.Ref
	// Selector, in place of Workloads, means all of Namespace that match.
	Selector  labels.Selector
	Namespace string
	// MayBeMissing: a workload that is not there is left out instead of an error.
	MayBeMissing bool
	// NoNodes leaves out the nodes and what else runs on them.
	NoNodes bool
	// Evictions says that pods may be evicted, so that disruption budgets matter
	// even where nodes cannot be read.
	Evictions bool
	// Claims says that pods of the change use persistent volume claims.
	Claims bool
	// Kin keeps pods that were the workloads' once and have been let go.
	Kin bool
	// Progress, when set, is told how many objects have been read so far; calls
	// come from several goroutines.
	Progress func(objects int)
}

// reader is one reading.
type reader struct {
	*Cluster
	Query
	namespaces []string

	mu   sync.Mutex // of all below
	s    *Snapshot
	sets []*appsv1.ReplicaSet // all of the namespaces
	read int
}

// Read takes a snapshot. What the user may not list is left out, which the
// snapshot's Warnings tell; every other failure is an error with kubectl's words.
func (c *Cluster) Read(ctx context.Context, q Query) (*Snapshot, error) {
	r := &reader{Cluster: c, Query: q, s: &Snapshot{nodesAsked: !q.NoNodes, denied: map[string]bool{}}}
	r.namespaces = r.namespacesOf()
	first := newTasks(ctx)
	r.readCluster(first)
	for _, ns := range r.namespaces {
		r.readNamespace(first, ns)
	}
	if err := first.end(); err != nil {
		return nil, explain(err)
	}
	if err := r.chooseSets(ctx); err != nil {
		return nil, explain(err)
	}
	// What is asked next depends on the answers so far, and not on one another's.
	limited, evicting, claiming := r.s.NodesKnown(), r.evicting(), r.claiming()
	second := newTasks(ctx)
	r.readPods(second, limited)
	if evicting {
		r.readBudgets(second)
	}
	if claiming {
		r.readClaims(second)
	}
	if err := second.end(); err != nil {
		return nil, explain(err)
	}
	third := newTasks(ctx)
	r.readVolumes(third)
	if err := third.end(); err != nil {
		return nil, explain(err)
	}
	r.s.addMissingClasses()
	r.s.addMissingVolumes()
	r.s.Time = c.clock.Now()
	return r.s, nil
}

func (r *reader) namespacesOf() []string {
	if r.Selector != nil {
		return []string{r.Namespace}
	}
	var out []string
	for _, ref := range r.Workloads {
		if !slices.Contains(out, ref.Namespace) {
			out = append(out, ref.Namespace)
		}
	}
	return out
}

// store enters what a request brought, or that the user may not ask. A kind
// that the server does not serve has no objects.
func (r *reader) store(kind string, n int, err error, enter func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case apierrors.IsForbidden(err):
		r.s.denied[kind] = true
		return nil
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	enter()
	r.count(n)
	return nil
}

func (r *reader) count(n int) {
	r.read += n
	if r.Progress != nil {
		r.Progress(r.read)
	}
}

// load lists one kind into its place in the snapshot.
func load[L metav1.ListInterface, T any](r *reader, t *tasks, kind string, into *[]*T, list lister[L], items func(L) []T, opts metav1.ListOptions, keep func(*T) *T) {
	t.run(func(ctx context.Context) error {
		found, err := fetch(ctx, list, items, opts, keep)
		return r.store(kind, len(found), err, func() { *into = append(*into, found...) })
	})
}

func (r *reader) readCluster(t *tasks) {
	t.run(r.readVersion)
	if r.NoNodes {
		return
	}
	load(r, t, nodes, &r.s.Nodes, r.core.Nodes().List, func(l *corev1.NodeList) []corev1.Node { return l.Items }, metav1.ListOptions{}, bareNode)
}

// readVersion asks for the release. A server that will not say is taken to be of the newest.
func (r *reader) readVersion(ctx context.Context) error {
	answer := r.core.RESTClient().Get().AbsPath("/version").SetHeader("Accept", "application/json").Do(ctx)
	// Raw leaves a refusal in the client's words; Error has the server's.
	err := answer.Error()
	var info version.Info
	if err == nil {
		var data []byte
		if data, err = answer.Raw(); err == nil {
			err = json.Unmarshal(data, &info)
		}
	}
	if err != nil {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.Version = info.GitVersion
	return nil
}

func (r *reader) readNamespace(t *tasks, ns string) {
	r.readDeployments(t, ns)
	all := metav1.ListOptions{}
	load(r, t, replicaSets, &r.sets, r.apps.ReplicaSets(ns).List, func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items }, all, bare)
	load(r, t, quotas, &r.s.Quotas, r.core.ResourceQuotas(ns).List, func(l *corev1.ResourceQuotaList) []corev1.ResourceQuota { return l.Items }, all, bare)
	load(r, t, limitRanges, &r.s.LimitRanges, r.core.LimitRanges(ns).List, func(l *corev1.LimitRangeList) []corev1.LimitRange { return l.Items }, all, bare)
	load(r, t, autoscalers, &r.s.Autoscalers, r.autoscaling.HorizontalPodAutoscalers(ns).List,
		func(l *autoscalingv2.HorizontalPodAutoscalerList) []autoscalingv2.HorizontalPodAutoscaler {
			return l.Items
		}, all, bare)
	t.run(func(ctx context.Context) error { return r.readNamespaceItself(ctx, ns) })
}

// evicting says whether pods may be evicted: by people or, on nodes that are
// known, to make room for other pods.
func (r *reader) evicting() bool { return !r.s.denied[nodes] || r.Evictions }

// readBudgets reads disruption budgets, which matter to evictions only.
func (r *reader) readBudgets(t *tasks) {
	for _, ns := range r.namespaces {
		load(r, t, budgets, &r.s.Budgets, r.policy.PodDisruptionBudgets(ns).List,
			func(l *policyv1.PodDisruptionBudgetList) []policyv1.PodDisruptionBudget { return l.Items }, metav1.ListOptions{}, bare)
	}
}

// fewGets is up to how many Deployments of a namespace are asked for one by one.
const fewGets = 2

func (r *reader) readDeployments(t *tasks, ns string) {
	var names []string
	for _, ref := range r.Workloads {
		if ref.Kind == "Deployment" && ref.Namespace == ns {
			names = append(names, ref.Name)
		}
	}
	if r.Selector == nil && len(names) <= fewGets {
		for _, name := range names {
			t.run(func(ctx context.Context) error { return r.readDeployment(ctx, ns, name) })
		}
		return
	}
	t.run(func(ctx context.Context) error { return r.listDeployments(ctx, ns, names) })
}

func (r *reader) readDeployment(ctx context.Context, ns, name string) error {
	d, err := r.apps.Deployments(ns).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && r.MayBeMissing {
		return nil
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.Deployments = append(r.s.Deployments, d)
	r.count(1)
	return nil
}

func (r *reader) listDeployments(ctx context.Context, ns string, names []string) error {
	opts := metav1.ListOptions{}
	if r.Selector != nil {
		opts.LabelSelector = r.Selector.String()
	}
	missing := slices.Clone(names)
	found, err := fetch(ctx, r.apps.Deployments(ns).List, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }, opts,
		func(d *appsv1.Deployment) *appsv1.Deployment {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == d.Name })
			if r.Selector == nil && !slices.Contains(names, d.Name) {
				return nil
			}
			return d.DeepCopy()
		})
	if err == nil && len(missing) > 0 && !r.MayBeMissing {
		err = apierrors.NewNotFound(appsv1.Resource("deployments"), missing[0])
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.Deployments = append(r.s.Deployments, found...)
	r.count(len(found))
	return nil
}

// readPods reads the pods of the namespaces whole, and where nodes are limited
// what else runs on them.
func (r *reader) readPods(t *tasks, limited bool) {
	items := func(l *corev1.PodList) []corev1.Pod { return l.Items }
	own := r.ownPods(limited)
	for _, ns := range r.namespaces {
		opts := metav1.ListOptions{}
		if !limited {
			if !r.hasSets(ns) {
				continue
			}
			if !r.Kin { // their labels have changed
				opts.LabelSelector = r.onlySelector(ns)
			}
		}
		load(r, t, pods, &r.s.Pods, r.core.Pods(ns).List, items, opts, own)
	}
	if !limited {
		return
	}
	elsewhere := "status.phase!=Succeeded,status.phase!=Failed"
	for _, ns := range r.namespaces {
		elsewhere += ",metadata.namespace!=" + ns
	}
	load(r, t, podsElsewhere, &r.s.Others, r.core.Pods(metav1.NamespaceAll).List, items, metav1.ListOptions{FieldSelector: elsewhere}, occupant)
	load(r, t, classes, &r.s.Classes, r.scheduling.PriorityClasses().List,
		func(l *schedulingv1.PriorityClassList) []schedulingv1.PriorityClass { return l.Items }, metav1.ListOptions{}, bare)
}
