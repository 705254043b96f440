// Package scheduler places pods on nodes as kube-scheduler does: one after the
// other, by priority and age, through filters and scores, with back-off for
// those that no node takes.
package scheduler

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Options of the scheduler. The zero value is kube-scheduler's default.
type Options struct {
	// SchedulerName is the spec.schedulerName of the pods it places; empty means default-scheduler.
	SchedulerName string
	// QPS and Burst bound its API requests; zero means 50 and 100. Below zero is unlimited.
	QPS, Burst float64
}

// Plugin is the scheduler.
type Plugin struct {
	opts    Options
	h       *sim.Hands
	cluster *cluster
	queue   *queue
	filters []filter
	scorers []scorer
	calls   bucket
	next    int // where the next search for nodes begins
	busy    bool
	alarm   *sim.Timer // the end of the next back-off
	linger  *sim.Timer // the next look at pods that have been unschedulable for long
	round   time.Time  // when one of these looks is due; others are so many periods off
	refused map[likeness]answer

	// Room for one cycle's work, kept for the next.
	fits           []feasible
	refusals       []verdict
	totals, points []int64
}

// New makes a scheduler.
func New(opts Options) *Plugin {
	if opts.SchedulerName == "" {
		opts.SchedulerName = corev1.DefaultSchedulerName
	}
	if opts.QPS == 0 {
		opts.QPS = 50
	}
	if opts.Burst == 0 {
		opts.Burst = 100
	}
	return &Plugin{opts: opts, queue: &queue{}, refused: map[likeness]answer{}}
}

// Name is the actor in the trace.
func (s *Plugin) Name() string { return trace.ActorScheduler }

// Start watches nodes, pods and volumes.
func (s *Plugin) Start(h *sim.Hands) {
	s.h = h
	s.know(sight{h}, h.Version())
	s.calls = bucket{rate: s.opts.QPS, burst: s.opts.Burst, tokens: s.opts.Burst, at: h.Now()}
	h.Watch(sim.Namespaces, s.observeSelected)
	h.Watch(sim.Services, s.observeSelected)
	h.Watch(sim.Nodes, s.observeNode)
	h.Follow(sim.Pods, s.observePod)
	for _, resource := range []string{sim.PersistentVolumes, sim.PersistentVolumeClaims, sim.StorageClasses} {
		h.Watch(resource, s.observeVolume)
	}
}

// know begins with an empty cluster.
func (s *Plugin) know(world sim.Reader, v rollout.Version) {
	s.cluster = newCluster(world)
	s.filters, s.scorers = filters(v), s.cluster.scorers()
}

// sight is what the scheduler sees of other objects: what its watches brought,
// and as stored what it does not watch, whose changes wake nobody.
type sight struct{ h *sim.Hands }

// Get reads one object.
func (w sight) Get(resource, namespace, name string) (sim.Object, bool) {
	return w.of(resource).Get(resource, namespace, name)
}

// List reads the objects of a resource.
func (w sight) List(resource, namespace string) []sim.Object {
	return w.of(resource).List(resource, namespace)
}

func (w sight) of(resource string) sim.Reader {
	if resource == sim.ReplicaSets || resource == sim.DisruptionBudgs {
		return w.h.Stored()
	}
	return w.h.Cached()
}

// observeSelected takes in a change of what selectors are matched with.
func (s *Plugin) observeSelected(c engine.Change) {
	switch is := c.New.(type) {
	case *corev1.Namespace:
		if was, ok := c.Old.(*corev1.Namespace); ok && c.Verb == engine.Modified && maps.Equal(was.Labels, is.Labels) {
			return
		}
	case *corev1.Service:
		if was, ok := c.Old.(*corev1.Service); ok && c.Verb == engine.Modified && maps.Equal(was.Spec.Selector, is.Spec.Selector) {
			return
		}
	}
	s.cluster.forget()
}

func (s *Plugin) observeVolume(engine.Change) {
	s.cluster.version++
	s.wake(change{what: volumeChanged})
}

func (s *Plugin) observeNode(c engine.Change) {
	n, ok := c.New.(*corev1.Node)
	if !ok {
		return
	}
	switch c.Verb {
	case engine.Deleted:
		s.cluster.dropNode(n.Name)
		s.wake(change{what: nodeGone, node: n})
	case engine.Added:
		s.cluster.setNode(n)
		s.wake(change{what: nodeAdded, node: n})
	case engine.Modified:
		old, _ := c.Old.(*corev1.Node)
		if old == nil || matters(old, n) {
			s.cluster.setNode(n)
			s.wake(change{what: nodeChanged, was: old, node: n})
		}
	}
}

// matters says whether a change of a node can change where pods go.
// Heartbeats do not.
func matters(old, n *corev1.Node) bool {
	return old.Spec.Unschedulable != n.Spec.Unschedulable ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, n.Spec.Taints) ||
		!equality.Semantic.DeepEqual(old.Labels, n.Labels) ||
		!equality.Semantic.DeepEqual(old.Status.Allocatable, n.Status.Allocatable) ||
		!equality.Semantic.DeepEqual(old.Status.Images, n.Status.Images)
}

func (s *Plugin) observePod(c engine.Change, number int) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok {
		return
	}
	over := c.Verb == engine.Deleted || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case over:
		s.drop(number, pod.UID)
		if p := s.cluster.pods.At(number, pod.UID); p != nil {
			s.cluster.displace(p)
			s.wake(change{what: podGone, pod: pod})
		}
	case pod.Spec.NodeName != "":
		s.drop(number, pod.UID)
		before := s.cluster.version
		s.cluster.place(number, pod, pod.Spec.NodeName, false)
		if s.cluster.version != before {
			s.wake(change{what: podPlaced, pod: pod})
		}
	default:
		s.waiting(number, pod)
	}
}

// drop takes a pod out of the queue.
func (s *Plugin) drop(number int, uid types.UID) {
	if e := s.queue.all.At(number, uid); e != nil {
		s.nominate(e, "")
		s.queue.drop(e)
	}
}

// waiting takes in a pod without a node, or a change of one.
func (s *Plugin) waiting(number int, pod *corev1.Pod) {
	e, chosen := s.queue.all.At(number, pod.UID), s.cluster.pods.At(number, pod.UID) != nil
	switch {
	case pod.DeletionTimestamp != nil || pod.Spec.SchedulerName != s.opts.SchedulerName:
		s.drop(number, pod.UID)
	case chosen || len(pod.Spec.SchedulingGates) > 0:
	case e != nil:
		e.pod = pod
	default:
		s.queue.add(number, pod, s.h.Now(), s.h.Cause())
		s.pump()
	}
}

// wake tries again the pods that a change may help.
func (s *Plugin) wake(ch change) {
	helped := func(e *entry) bool {
		if e.by == 0 {
			return ch.what&(nodeAdded|nodeChanged) != 0 // no node was there to refuse it
		}
		for i, f := range s.filters {
			if e.by&(1<<i) != 0 && f.helps(s.cluster, e.pod, ch) {
				return true
			}
		}
		return false
	}
	if s.queue.wake(helped, s.h.Now(), s.early(), s.h.Cause()) {
		s.pump()
	}
}

// early: pods are taken out of their back-off when nothing else is to be done.
func (s *Plugin) early() bool { return s.h.Version().SchedulesDuringBackOff() }

// pump starts the next scheduling cycle unless one is running.
func (s *Plugin) pump() {
	if s.busy {
		return
	}
	e := s.queue.pop(s.h.Now(), s.early())
	if e == nil {
		s.setAlarm()
		return
	}
	s.busy = true
	s.h.After(s.h.Latency(sim.SchedulePod), func() {
		for ; e != nil; e = s.same() {
			s.h.Under(e.cause, func() { s.cycle(e) })
		}
		s.busy = false
		s.pump()
	})
}

// same is the next pod when cycles take no time: all that wait at this moment
// are looked at before anyone else moves.
func (s *Plugin) same() *entry {
	if !s.h.Instant() && !s.h.Settling() {
		return nil
	}
	return s.queue.pop(s.h.Now(), s.early())
}

// setAlarm wakes the scheduler at the end of the next back-off.
func (s *Plugin) setAlarm() {
	s.h.Stop(s.alarm)
	s.alarm = nil
	if end := s.queue.nextEnd(s.early()); !end.IsZero() {
		s.alarm = s.h.After(max(end.Sub(s.h.Now()), 0), func() {
			s.alarm = nil
			s.pump()
		})
	}
}

// token is how long a request must wait for the client's limiter.
func (s *Plugin) token() time.Duration {
	if s.h.Settling() || s.h.Instant() || s.opts.QPS < 0 {
		return 0
	}
	return s.calls.take(s.h.Now())
}

// bucket is a client's rate limit: tokens come at a steady rate up to burst.
// A caller takes one at once and waits until it is there.
type bucket struct {
	rate, burst, tokens float64
	at                  time.Time
}

func (b *bucket) take(now time.Time) time.Duration {
	b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}
