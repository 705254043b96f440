package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// FollowOptions say what is followed, and who is told.
type FollowOptions struct {
	// Workloads are the Deployments and bare ReplicaSets to follow.
	Workloads []trace.Ref
	// Selectors find their pods; a workload without one costs a watch of all
	// pods of its namespace.
	Selectors map[trace.Ref]*metav1.LabelSelector
	// Version is the release whose arithmetic explains what is seen.
	Version rollout.Version
	// Settle is how long what one watch brings waits for what the others bring,
	// so that all can be put in order, unless they are seen to have brought it
	// already; zero is 240 ms. It is longer while watches are further behind each
	// other.
	Settle time.Duration
	// Trace is told of what happens, in order, one event at a time; nil when
	// only the state is wanted. It must not block.
	Trace func(trace.Event)
	// Problem is told of failed watches, which are tried again, and of what may
	// not be watched; calls come from several goroutines.
	Problem func(error)
}

// Follower watches workloads of a cluster whose own controllers act, and tells
// what they do as a plan would: with the arithmetic behind each step, evaluated
// on what was observed just before it.
type Follower struct {
	options FollowOptions
	cluster *Cluster
	journal *journal
	stop    context.CancelFunc
	ended   sync.WaitGroup
	changed chan struct{}

	inbox inbox
	away  absence
	mu    sync.Mutex // of all below
	deps  map[trace.Ref]*appsv1.Deployment
	sets  map[trace.Ref]*appsv1.ReplicaSet
	pods  map[trace.Ref]*corev1.Pod
	gone  map[trace.Ref]bool
	early map[trace.Ref]arrival // pods, as last brought, of no ReplicaSet that is known
	began bool

	mine    map[types.UID]int64     // generation up to which a workload's changes are the user's
	warned  map[types.UID]announced // pods that an Event says are thrown out
	moments map[trace.Ref][]outlook // by Deployment
	bursts  map[trace.Ref]*burst    // by ReplicaSet
	scaled  map[trace.Ref]trace.Seq // the last step of each ReplicaSet
	trigger map[trace.Ref]trace.Seq // what a Deployment's next step follows from
	said    map[string]bool
}

// settle is the usual FollowOptions.Settle: streams are not in step with each
// other, and resource versions put in order what they bring.
const settle = 240 * time.Millisecond

// Follow lists what there is and watches it until ctx ends or Close. Errors are
// those of the user's rights to watch the workloads, and of ctx.
func (c *Cluster) Follow(ctx context.Context, o FollowOptions) (*Follower, error) {
	if o.Problem == nil {
		o.Problem = func(error) {}
	}
	if o.Settle == 0 {
		o.Settle = settle
	}
	f := newFollower(c, o)
	f.inbox.every = o.Settle / settleBeats
	ctx, f.stop = context.WithCancel(ctx)
	if err := f.watch(ctx); err != nil {
		f.Close()
		return nil, explain(err)
	}
	f.deliver(true)
	f.ended.Go(func() { f.run(ctx) })
	return f, nil
}

func newFollower(c *Cluster, o FollowOptions) *Follower {
	f := &Follower{
		options: o, cluster: c, changed: make(chan struct{}, 1),
		deps: map[trace.Ref]*appsv1.Deployment{}, sets: map[trace.Ref]*appsv1.ReplicaSet{}, pods: map[trace.Ref]*corev1.Pod{}, gone: map[trace.Ref]bool{},
		early: map[trace.Ref]arrival{},
		mine:  map[types.UID]int64{}, warned: map[types.UID]announced{}, moments: map[trace.Ref][]outlook{}, bursts: map[trace.Ref]*burst{},
		scaled: map[trace.Ref]trace.Seq{}, trigger: map[trace.Ref]trace.Seq{}, said: map[string]bool{},
	}
	f.journal = newJournal(f.tell, clock.RealClock{})
	f.journal.owned, f.journal.wall = f.owned, c.clock.Now
	return f
}

// tell passes an event on; until Begin all happens at time zero.
func (f *Follower) tell(e trace.Event) {
	if !f.began {
		e.Offset = 0
	}
	switch e.Detail.(type) {
	case trace.Scaled:
		f.scaled[e.Object] = e.Seq
	case trace.StatusChanged, trace.Changed, trace.Specified:
		f.triggers(e)
	}
	if f.options.Trace != nil {
		f.options.Trace(e)
	}
}

// triggers notes what a Deployment's controller wakes for.
func (f *Follower) triggers(e trace.Event) {
	switch e.Object.Kind {
	case "Deployment":
		if _, own := e.Detail.(trace.StatusChanged); !own { // its own status makes it do nothing
			f.trigger[e.Object] = e.Seq
		}
	case "ReplicaSet":
		if rs := f.sets[e.Object]; rs != nil {
			f.trigger[deploymentOf(rs)] = e.Seq
		}
	}
}

// Begin makes now the time zero of the trace and returns the server's clock.
func (f *Follower) Begin() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began = true
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	f.journal.began = time.Now()
	return f.cluster.clock.Now()
}

// Making runs a change of the user's: what becomes of it is told only once it
// is known to be theirs.
func (f *Follower) Making(ctx context.Context, do func() error) error {
	f.inbox.hold()
	defer f.inbox.release()
	if err := do(); err != nil {
		return err
	}
	for _, ref := range f.options.Workloads {
		obj, err := f.cluster.Get(ctx, ref)
		if err != nil {
			continue // it is told as somebody's change
		}
		f.mu.Lock()
		f.mine[obj.GetUID()] = obj.GetGeneration()
		known := f.known(ref)
		f.mu.Unlock()
		if known == nil || known.GetUID() != obj.GetUID() || known.GetGeneration() < obj.GetGeneration() {
			f.inbox.expect(obj.GetUID(), obj.GetGeneration())
		}
	}
	return nil
}

// known is a workload as it was last brought; nil where it is not there.
func (f *Follower) known(ref trace.Ref) Object {
	if d := f.deps[ref]; d != nil {
		return d
	}
	if rs := f.sets[ref]; rs != nil {
		return rs
	}
	return nil
}

// Observed reports whether a controller that is no engine of ours has seen a
// workload as it is now. What an engine of ours published may be of one that
// was killed, and says nothing about who acts.
func (f *Follower) Observed(ref trace.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	observed := int64(-1)
	switch obj := f.known(ref).(type) {
	case nil:
		return false
	case *appsv1.Deployment:
		observed = obj.Status.ObservedGeneration
	case *appsv1.ReplicaSet:
		observed = obj.Status.ObservedGeneration
	}
	obj := f.known(ref)
	manager, _ := writer(obj, nil, true)
	return observed >= obj.GetGeneration() && obj.GetGeneration() >= f.mine[obj.GetUID()] && !strings.HasPrefix(manager, engineManager)
}

// Settled reports whether all that the watches have brought is told.
func (f *Follower) Settled() bool { return f.inbox.empty() }

// Changed has a value whenever something has changed since it was last received from.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Gone reports whether a workload that was there has been deleted.
func (f *Follower) Gone(ref trace.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone[ref]
}

// Snapshot is what there is of the workloads now, without nodes and the like.
func (f *Follower) Snapshot() *Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &Snapshot{Time: f.cluster.clock.Now(), denied: map[string]bool{}}
	for _, d := range f.deps {
		s.Deployments = append(s.Deployments, bare(d))
	}
	for _, rs := range f.sets {
		s.ReplicaSets = append(s.ReplicaSets, bare(rs))
	}
	for _, pod := range f.pods {
		s.Pods = append(s.Pods, bare(pod))
	}
	s.Objects() // sorts them
	return s
}

// End closes the trace, with a word for how it ended or, when it was cut short,
// without one. What there is is still followed.
func (f *Follower) End(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	f.journal.at = time.Time{} // now
	for _, ref := range f.options.Workloads {
		if why != "" {
			f.journal.add(trace.Event{Actor: trace.ActorWorld, Object: ref, Detail: trace.Ended{Why: why}})
		}
	}
	f.options.Trace = nil
}

// Close ends the watches; nothing is told afterwards.
func (f *Follower) Close() {
	f.stop()
	f.ended.Wait()
	f.journal.close()
}

// run delivers what has settled.
func (f *Follower) run(ctx context.Context) {
	tick := time.NewTicker(f.inbox.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.deliver(false)
		}
	}
}

// deliver takes what has settled, or what was found, in the order in which it happened.
func (f *Follower) deliver(found bool) {
	list := f.inbox.take(found)
	if len(list) == 0 {
		return
	}
	f.mu.Lock()
	f.journal.mu.Lock()
	for _, a := range list {
		if a.initial {
			f.foresee(a.obj)
		}
	}
	for _, a := range list {
		f.journal.at = a.at
		f.take(a)
	}
	f.journal.mu.Unlock()
	f.mu.Unlock()
	if !found {
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
}

// foresee knows a ReplicaSet before it is told of. Owners are told of first, and
// of a Deployment in mid-rollout the trace has to say at once which ReplicaSet
// has its template.
func (f *Follower) foresee(obj Object) {
	if rs, ok := obj.(*appsv1.ReplicaSet); ok && f.follows(deploymentOf(rs)) {
		f.sets[derive.Ref(rs)] = rs
	}
}

// owned lists the ReplicaSets of a Deployment by name.
func (f *Follower) owned(owner types.UID) []*appsv1.ReplicaSet {
	var out []*appsv1.ReplicaSet
	for _, rs := range f.sets {
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil && ref.UID == owner {
			out = append(out, rs)
		}
	}
	slices.SortFunc(out, func(a, b *appsv1.ReplicaSet) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Get reads a Deployment or ReplicaSet from the server; errors have kubectl's words.
func (c *Cluster) Get(ctx context.Context, ref trace.Ref) (Object, error) {
	var out Object
	var err error
	switch ref.Kind {
	case "Deployment":
		out, err = c.apps.Deployments(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	case "ReplicaSet":
		out, err = c.apps.ReplicaSets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	default:
		return nil, fmt.Errorf("%s is no workload", ref)
	}
	return out, explain(err)
}

// Lags reports whether a workload is older than the user's own change of it.
func (f *Follower) Lags(obj Object) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return obj.GetGeneration() < f.mine[obj.GetUID()]
}
