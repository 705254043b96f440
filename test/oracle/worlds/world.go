package worlds

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/garbagecollector"
)

// world is one run of a script with both sides in it.
type world struct {
	start            time.Time
	faults           *faults
	fate             *fate
	pairs            map[string]*pair
	difference       *difference
	upstreamPanicked string
	compared         counts
	speed            *speed // nil where nobody asks
}

// counts are how much of a world was compared.
type counts struct{ passes, writes int }

const (
	// enough passes for one world; few have half as many.
	enough = 2000
	// patience with a Deployment that spins: one that was complete once and is
	// past its deadline with a pod missing is retried without end, ten times a
	// second, by upstream as well. After so many turns its deadline is taken away.
	patience = 30
)

// play runs a script and returns the first difference, nil for none, and how
// much was compared.
func play(t *testing.T, s script) (found *difference, compared counts) {
	return playTimed(t, s, nil)
}

// playTimed is play that adds up how long passes took.
func playTimed(t *testing.T, s script, took *speed) (found *difference, compared counts) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		time.Sleep(137 * time.Millisecond) // whole seconds are special: start at none
		w := &world{start: time.Now(), faults: &faults{}, speed: took}
		shared := travels{}
		deployments, replicaSets := newDeploymentTwin(ctx, shared), newReplicaSetTwin(ctx, shared)
		w.pairs = map[string]*pair{
			trace.ActorDeployment: w.pair(s, trace.ActorDeployment, deployment.New(rollout.LatestVersion), deployments),
			trace.ActorReplicaSet: w.pair(s, trace.ActorReplicaSet, replicaset.New(rollout.LatestVersion), replicaSets),
		}
		w.run(ctx, s)
		cancel()
		synctest.Wait()
		compared = w.compared
		if w.upstreamPanicked == "" || !strings.Contains(w.upstreamPanicked, "divide") {
			found = w.difference
		}
	})
	return found, compared
}

// over: what follows the first difference is not compared.
func (w *world) over() bool { return w.difference != nil || w.compared.passes >= enough }

func (w *world) pair(s script, actor string, ours engine.Controller, t *twin) *pair {
	return &pair{ours: ours, twin: t, world: w, actor: actor, ready: map[string]time.Time{}, rand: rand.New(rand.NewPCG(s.seed, uint64(len(actor))))}
}

// spec runs a pair in the place of its controller, without limits of its own:
// passes take no time.
func (w *world) spec(s engine.Spec) engine.Spec {
	s.Controller, s.QPS = w.pairs[s.Name], 0
	return s
}

func (w *world) run(ctx context.Context, s script) {
	var timing sim.Timing
	f := &fate{world: w, actions: s.actions}
	w.fate = f
	plugins := []sim.Plugin{f, garbagecollector.New()}
	var objects []sim.Object
	limit := time.Minute
	for _, a := range s.actions {
		limit = a.at + time.Second
		switch a.verb {
		case "watch":
			timing[sim.WatchLatency] = sim.Spread{Low: a.duration("low"), High: a.duration("high"), TailTo: a.duration("tail")}
		case "kubelet":
			plugins = append(plugins, &kubelet{setting: a})
		case "load":
			objects = append(objects, loaded(a.target)...)
		}
	}
	log := &trace.Log{Depth: trace.Syncs}
	log.Sink = func(e trace.Event) {
		if _, ok := e.Detail.(trace.Enqueued); ok && w.pairs[e.Actor] != nil {
			w.pairs[e.Actor].enqueued(e.Object, w.start.Add(e.Offset))
		}
	}
	f.sim = sim.New(sim.Config{
		Seed: s.seed, Timing: timing, Start: w.start, Log: log, Plugins: plugins,
		Controllers: []engine.Spec{w.spec(deployment.Spec(rollout.LatestVersion)), w.spec(replicaset.Spec(rollout.LatestVersion))},
	})
	if err := f.sim.Load(objects...); err != nil {
		panic(err)
	}
	_, err := f.sim.Run(ctx, engine.Goal{Limit: limit, WholeLimit: true})
	w.alarmed(err)
}

// alarmed: Run found its own trace out of order.
func (w *world) alarmed(err error) {
	if err != nil && !w.over() {
		w.difference = &difference{time.Since(w.start), trace.ActorWorld, "invariants", err.Error()}
	}
}
