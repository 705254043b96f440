package live

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// runner runs one controller: informer, handler, key in a rate-limited queue,
// worker, pass, write. Its twin is sim's.
type runner struct {
	host     *Host
	spec     engine.Spec
	client   kubernetes.Interface // under the controller's own limit
	queue    *queue
	recorder *recorder
	kind     string // of the objects its keys name
}

var kindOf = map[string]string{"deployments": "Deployment", "replicasets": "ReplicaSet", "pods": "Pod"}

func newRunner(ctx context.Context, h *Host, spec engine.Spec, client kubernetes.Interface) *runner {
	r := &runner{host: h, spec: spec, client: client, kind: kindOf[spec.Watches[0]]}
	r.queue = newQueue(spec.Name, func(key engine.Key, cause trace.Seq) trace.Seq {
		return h.journal.emit(trace.Event{Cause: cause, Actor: spec.Name, Object: r.ref(key), Detail: trace.Enqueued{}})
	})
	r.recorder = newRecorder(ctx, spec.Component)
	return r
}

func (r *runner) ref(key engine.Key) trace.Ref {
	return trace.Ref{Kind: r.kind, Namespace: key.Namespace, Name: key.Name}
}

// watch registers the controller with the shared informers, each with a
// listener of its own as upstream's.
func (r *runner) watch() error {
	for _, resource := range r.spec.Watches {
		_, err := r.host.cache.informers[resource].AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, initial bool) { r.observe(engine.Added, nil, obj, initial) },
			UpdateFunc: func(old, obj any) {
				r.observe(engine.Modified, old, obj, false)
			},
			DeleteFunc: func(obj any) { r.observe(engine.Deleted, nil, obj, false) },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// observe tells the controller of a change of its cache.
func (r *runner) observe(verb engine.Verb, old, obj any, initial bool) {
	if last, missed := obj.(cache.DeletedFinalStateUnknown); missed {
		obj = last.Obj
	}
	now, ok := obj.(runtime.Object)
	if !ok {
		return // a deletion whose last state nobody knows
	}
	c := engine.Change{Verb: verb, New: now}
	if before, ok := old.(runtime.Object); ok {
		c.Old = before
	}
	if d, ok := now.(*appsv1.Deployment); ok {
		was, _ := old.(*appsv1.Deployment)
		r.host.guard.observe(verb, d, was)
	}
	r.host.journal.delivered(c, initial)
	p := &pass{runner: r, cause: r.delivery(c)}
	r.spec.Controller.Observe(p.env(), c)
}

// delivery traces a watch event when it first wakes a key.
func (r *runner) delivery(c engine.Change) func() trace.Seq {
	obj, ok := c.New.(Object)
	if !ok {
		return func() trace.Seq { return 0 }
	}
	return sync.OnceValue(func() trace.Seq {
		j := r.host.journal
		return j.emit(trace.Event{Cause: j.seqOf(obj), Actor: r.spec.Name, Object: derive.Ref(obj),
			Detail: trace.Delivered{Watch: string(c.Verb), ResourceVersion: obj.GetResourceVersion()}})
	})
}

// work is one worker: it ends when the queue has shut down. What still waits
// in it once soft has ended is left to the next start; ctx is for the passes.
func (r *runner) work(soft, ctx context.Context) {
	for {
		key, cause, ok := r.queue.take()
		if !ok {
			return
		}
		if soft.Err() == nil && ctx.Err() == nil {
			r.step(ctx, key, cause)
		}
		r.queue.Done(key)
	}
}

// step is one run of the controller over one key.
func (r *runner) step(ctx context.Context, key engine.Key, cause trace.Seq) {
	j := r.host.journal
	began := j.emit(trace.Event{Cause: cause, Actor: r.spec.Name, Object: r.ref(key), Detail: trace.SyncBegan{Requeues: r.queue.NumRequeues(key)}})
	p := &pass{runner: r, began: began}
	p.cause = p.at
	if err := engine.Step(ctx, r.spec.Controller, p.env(), key); err != nil {
		j.emit(trace.Event{Cause: began, Actor: r.spec.Name, Object: r.ref(key), Detail: trace.SyncEnded{Error: err.Error()}})
		r.host.failed(r.ref(key), err)
	}
}

// pass is what one pass, or one observation, is traced by. Calls of a fan-out
// share it.
type pass struct {
	runner *runner
	began  trace.Seq
	cause  func() trace.Seq // what its next event follows from

	mu       sync.Mutex
	decision trace.Seq // the last arithmetic: what the pass's writes follow from
	rule     trace.Rule
}

// env is everything the pass may touch.
func (p *pass) env() *engine.Env {
	r := p.runner
	return &engine.Env{
		Cache: r.host.cache, API: &clientAPI{r.client, p}, Queue: bound{r.queue, p.cause, p.limited},
		Clock: r.host.clock, Fanout: fanout, Events: passRecorder{r.recorder, p}, Trace: p,
	}
}

// at is the last arithmetic, or the pass itself.
func (p *pass) at() trace.Seq {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.decision != 0 {
		return p.decision
	}
	return p.began
}

// Emit traces what a controller says. An arithmetic becomes the cause of what
// the pass writes next.
func (p *pass) Emit(object trace.Ref, detail trace.Detail) trace.Seq {
	budget, decided := detail.(trace.Budgeted)
	if !decided || p.began == 0 {
		return p.said(object, detail)
	}
	seq := p.runner.host.journal.emit(trace.Event{Cause: p.began, Actor: p.runner.spec.Name, Object: object, Detail: detail})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decision, p.rule = seq, budget.Rule
	return seq
}

// said traces a detail as following from what the pass is at.
func (p *pass) said(object trace.Ref, detail trace.Detail) trace.Seq {
	j := p.runner.host.journal
	if j == nil {
		return 0
	}
	return j.emit(trace.Event{Cause: p.cause(), Actor: p.runner.spec.Name, Object: object, Detail: detail})
}

// limited traces a key put behind the rate limit.
func (p *pass) limited(key engine.Key, delay time.Duration) {
	p.said(p.runner.ref(key), trace.Requeued{After: delay, Why: "RateLimited"})
}

// author is the pass as the maker of a write: a status is published for the
// pass as a whole, all else follows from the arithmetic at hand.
func (p *pass) author(r request) author {
	by := author{actor: p.runner.spec.Name, cause: p.at()}
	if r.subresource == "status" {
		by.cause = p.began
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	by.rule = p.rule
	return by
}

func (p *pass) depart(r request) { p.runner.host.journal.depart(r) }

func (p *pass) wrote(r request, obj Object) { p.runner.host.journal.wrote(r, obj, p.author(r)) }

func (p *pass) refused(r request, err error) { p.runner.host.journal.refused(r, p.author(r), err) }
