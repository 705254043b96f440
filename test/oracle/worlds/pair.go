package worlds

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// pair is our controller with upstream's beside it: the engine runs ours, and
// every observation and every pass is repeated by the twin at the same moment,
// from the same cache, with the same answers, and compared.
type pair struct {
	ours  engine.Controller
	twin  *twin
	world *world
	actor string
	rand  *rand.Rand
	ready map[string]time.Time // our keys in the queue
	retry bool                 // what upstream did about the latest error
	spins int                  // passes in a row that only asked to be repeated
	// missed is a deletion that nobody was told of yet.
	missed *engine.Change
}

var _ engine.Controller = &pair{}

// difference is the first thing in which the two sides differ.
type difference struct {
	at    time.Duration
	actor string
	what  string
	text  string
}

func (d *difference) String() string {
	return fmt.Sprintf("at %v, %s controller: %s differ\n%s", d.at, d.actor, d.what, d.text)
}

func (p *pair) differ(what, format string, args ...any) {
	if p.world.difference == nil {
		p.world.difference = &difference{time.Since(p.world.start), p.actor, what, fmt.Sprintf(format, args...)}
	}
}

func (p *pair) compare(what string, ours, upstream any) {
	if !reflect.DeepEqual(ours, upstream) {
		p.differ(what, "ours:     %v\nupstream: %v", ours, upstream)
	}
}

// meet lets upstream's time reach ours: its queue's timers run, all of them,
// before anything else happens at that moment.
func (p *pair) meet(now time.Time) {
	if d := time.Until(now); d > 0 {
		time.Sleep(d)
		synctest.Wait()
	}
}

// enqueued is told of each key that enters our queue.
func (p *pair) enqueued(ref trace.Ref, at time.Time) {
	key := ref.Namespace + "/" + ref.Name
	if _, waits := p.ready[key]; !waits {
		p.ready[key] = at
	}
}

// listed tells the twin's caches once which version their first list had; the
// objects in it are told of one by one.
func (p *pair) listed(env *engine.Env) {
	for _, i := range p.twin.informers {
		if i.LastStoreSyncResourceVersion() == "" {
			i.Bookmark(env.Cache.LastSynced(i.resource))
		}
	}
}

// compareReady compares the keys that wait for a pass. Those that became ready at
// this very moment do not count: a timer may fire at the nanosecond of a watch
// event, and which of the two comes first is chance. They count the next time.
func (p *pair) compareReady(now time.Time, what string) {
	present := func(_ string, since time.Time) bool { return since.Equal(now) }
	ours, upstream := maps.Clone(p.ready), p.twin.queue.line.ready()
	maps.DeleteFunc(ours, present)
	maps.DeleteFunc(upstream, present)
	if !maps.EqualFunc(ours, upstream, time.Time.Equal) {
		p.differ(what, "ours:     %v\nupstream: %v", spell(ours), spell(upstream))
	}
}

func spell(ready map[string]time.Time) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(ready)) {
		fmt.Fprintf(&b, "%s since %s; ", k, ready[k].Format("04:05.000000000"))
	}
	return b.String()
}

// Observe repeats what our controller is told, sometimes with a resync before
// it. Some deletions are missed, as by an informer whose watch broke: they are
// told of later, as a tombstone, or never, if there is another of that name by then.
func (p *pair) Observe(env *engine.Env, c engine.Change) {
	if p.world.over() {
		return
	}
	p.meet(env.Clock.Now())
	p.listed(env)
	p.compareReady(env.Clock.Now(), "keys ready before a watch event")
	if p.rand.IntN(40) == 0 {
		p.resync(env, c)
	}
	missed := p.missed
	p.missed = nil
	switch {
	case missed != nil && c.Verb == engine.Added && sim.RefOf(c.New.(sim.Object)) == sim.RefOf(missed.New.(sim.Object)):
		c.Verb, c.Old, missed = engine.Modified, missed.New, nil
		p.tell(env, c, false)
	case c.Verb == engine.Deleted && c.Old != nil && p.rand.IntN(8) == 0:
		p.twin.drop(c.New)
		p.missed = &engine.Change{Verb: engine.Deleted, Old: c.Old, New: c.Old} // what the cache had
	default:
		p.tell(env, c, false)
	}
	if missed != nil { // only now: both caches have the present change
		p.tell(env, *missed, true)
	}
}

func (p *pair) tell(env *engine.Env, c engine.Change, tombstone bool) {
	e, rec := watched(env, nil, nil)
	p.ours.Observe(e, c)
	p.twin.observe(c, tombstone)
	p.compare(fmt.Sprintf("queue calls after %s %T %s", c.Verb, c.New, nameOf(c.New)), rec.asked, p.twin.queue.take())
}

func (p *pair) resync(env *engine.Env, c engine.Change) {
	if c.Old == nil || c.Verb == engine.Deleted {
		return
	}
	for _, rs := range env.Cache.ReplicaSets("default") {
		p.again(env, rs)
	}
	for _, pod := range env.Cache.PodsIn("default") {
		p.again(env, pod)
	}
	if p.actor == trace.ActorDeployment {
		for _, d := range env.Cache.Deployments("default") {
			p.again(env, d)
		}
	}
}

func (p *pair) again(env *engine.Env, obj runtime.Object) {
	if !p.twin.holds(obj) {
		return
	}
	e, rec := watched(env, nil, nil)
	p.ours.Observe(e, engine.Change{Verb: engine.Modified, Old: obj, New: obj})
	p.twin.resync(obj)
	p.compare("queue calls after a resync", rec.asked, p.twin.queue.take())
}

// holds says whether the twin's cache has the very version: the object being
// delivered is in our cache already, and in its only next.
func (t *twin) holds(obj runtime.Object) bool {
	have, ok, _ := t.informers[resourceOf(obj)].Get(t.travels.of(obj))
	return ok && have.(interface{ GetResourceVersion() string }).GetResourceVersion() == obj.(interface{ GetResourceVersion() string }).GetResourceVersion()
}

func nameOf(obj runtime.Object) string {
	m := obj.(interface {
		GetName() string
		GetResourceVersion() string
	})
	return m.GetName() + " version " + m.GetResourceVersion()
}

// Sync runs our pass and then upstream's.
func (p *pair) Sync(ctx context.Context, env *engine.Env, key engine.Key) error {
	if p.world.over() {
		return nil
	}
	p.world.compared.passes++
	p.meet(env.Clock.Now())
	p.compareReady(env.Clock.Now(), "keys ready before the pass over "+key.Name)
	if p.world.difference != nil {
		return nil
	}
	p.compare("requeues of "+key.Name, env.Queue.NumRequeues(key), p.twin.queue.NumRequeues(key.String()))
	delete(p.ready, key.String())
	e, rec := watched(env, p.world.faults, p.twin.travels)
	began := p.world.speed.now()
	err := p.ours.Sync(ctx, e, key)
	between := p.world.speed.now()
	p.twin.pass(key.String(), rec)
	p.world.speed.note(p.actor, len(rec.requests) > 0, began, between, p.world.speed.now())
	p.judge(key, rec, err)
	p.spinning(key, rec)
	return err
}

func (p *pair) spinning(key engine.Key, rec *recording) {
	if len(rec.requests) > 0 || !slices.Equal(rec.asked, []string{"retry " + key.String()}) {
		p.spins = 0
		return
	}
	if p.spins++; p.spins == patience {
		p.spins = 0
		p.world.fate.calm(key.Name)
	}
}

// judge compares one pass.
func (p *pair) judge(key engine.Key, rec *recording, err error) {
	p.world.compared.writes += rec.writes()
	asked, events := p.twin.queue.take(), p.twin.said.take()
	if p.twin.panicked != nil {
		p.world.upstreamPanicked = fmt.Sprint(p.twin.panicked)
		p.differ("panics", "upstream panics: %v", p.twin.panicked)
		return
	}
	for _, d := range p.twin.transport.differ {
		p.differ("requests of the pass over "+key.Name, "%s", d)
	}
	if left := p.twin.expected(); left != "nothing more" {
		p.differ("requests of the pass over "+key.Name, "ours requests, upstream does not:\n%s", left)
	}
	ours, theirs := sortGroups(rec.events, events)
	p.compare("Events of the pass over "+key.Name, ours, theirs)
	during, after := split(asked)
	p.compare("queue calls of the pass over "+key.Name, rec.asked, during)
	p.compare("errors of the pass over "+key.Name, message(err), message(p.twin.synced))
	p.retry = slices.Contains(after, "retry "+key.String())
	if err == nil && p.retry {
		p.differ("retries", "upstream retries where ours succeeded")
	}
}

// split parts the queue calls of a pass from those of its end.
func split(asked []string) (during, after []string) {
	at := slices.Index(asked, "synced")
	if at <= 0 {
		return nil, asked[at+1:]
	}
	return asked[:at], asked[at+1:]
}

// message is an error's text, without what is random upstream: which of two
// stale resources is named first is the order of a map.
func message(err error) string {
	switch {
	case err == nil:
		return ""
	case strings.HasPrefix(err.Error(), "read version: "):
		return "read version is not as new as written version"
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "namespace terminating"
	}
	return err.Error()
}

// Retry compares what happens to the key of a failed pass.
func (p *pair) Retry(err error, requeues int) bool {
	again := p.ours.Retry(err, requeues)
	if p.world.difference == nil {
		p.compare("retries", again, p.retry)
	}
	return again
}
