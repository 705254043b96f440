// Package script runs data-driven tests of the world's plugins: it puts objects
// into a world by hand, lets time pass and prints the trace.
package script

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Begin is virtual time zero of all scripts.
var Begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// Case is one world in the making: what a test's directives have said so far.
type Case struct {
	// Plugins makes the plugins under test for each run; opts are the
	// arguments of the world directive.
	Plugins func(t *testing.T, opts Args) []sim.Plugin
	// Acts are further steps a script may take, by name.
	Acts map[string]func(h *sim.Hands, args Args) error

	opts   Args
	loaded []sim.Object
	steps  []step
	world  *sim.World
}

// Args are the key=value arguments of a directive or of a line.
type Args map[string]string

// step is one thing done in the middle of a run.
type step struct {
	at time.Duration
	do func(h *sim.Hands) error
}

// Run runs every script in a folder. The directives are:
//
//	world [timing=cluster] [seed=N] [version=v1.N] [plugin options]   a new world; objects to load, one a line
//	create at=DURATION                                                objects
//	delete at=DURATION object=pods/NAME [grace=SECONDS] [policy=P]
//	status at=DURATION object=pods/NAME phase=PHASE
//	do at=DURATION act=NAME [arguments]
//	run limit=DURATION [show=TYPE,TYPE]                               the trace
//	get object=RESOURCE/NAME [path=status.conditions]                 a stored object
func Run(t *testing.T, dir string, c Case) {
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		cur := c
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := cur.directive(t, d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

func (c *Case) directive(t *testing.T, d *datadriven.TestData) (string, error) {
	args := argsOf(d)
	switch d.Cmd {
	case "world":
		objs, err := parse(d.Input)
		c.opts, c.loaded, c.steps, c.world = args, objs, nil, nil
		return "", err
	case "create":
		objs, err := parse(d.Input)
		if err != nil {
			return "", err
		}
		return "", c.at(args, func(h *sim.Hands) error { return create(h, objs) })
	case "delete":
		return "", c.at(args, func(h *sim.Hands) error { return remove(h, args) })
	case "status":
		return "", c.at(args, func(h *sim.Hands) error { return setPhase(h, args) })
	case "do":
		act, ok := c.Acts[args["act"]]
		if !ok {
			return "", fmt.Errorf("no act %q", args["act"])
		}
		return "", c.at(args, func(h *sim.Hands) error { return act(h, args) })
	case "run":
		return c.run(t, args)
	case "get":
		return c.get(args)
	}
	return "", fmt.Errorf("no directive %q", d.Cmd)
}

func argsOf(d *datadriven.TestData) Args {
	out := Args{}
	for _, a := range d.CmdArgs {
		out[a.Key] = strings.Join(a.Vals, ",")
	}
	return out
}

func (c *Case) at(args Args, do func(h *sim.Hands) error) error {
	at, err := time.ParseDuration(args["at"])
	c.steps = append(c.steps, step{at, do})
	return err
}

func (c *Case) run(t *testing.T, args Args) (string, error) {
	limit, err := time.ParseDuration(args["limit"])
	if err != nil {
		return "", err
	}
	log := trace.NewLog()
	p := &player{steps: c.steps, log: log}
	cfg := sim.Config{Seed: 1, Timing: sim.InstantTiming(), Start: Begin, Log: log}
	if c.opts["timing"] == "cluster" {
		cfg.Timing = sim.ClusterTiming()
	}
	if v := c.opts["version"]; v != "" {
		if cfg.Version, err = rollout.ParseVersion(v); err != nil {
			return "", err
		}
	}
	cfg.Plugins = append(c.Plugins(t, c.opts), p)
	c.world = sim.New(cfg)
	if err := c.world.Load(c.loaded...); err != nil {
		return "", err
	}
	if c.opts["settled"] != "" {
		if err := c.world.Settle(context.Background()); err != nil {
			return "", err
		}
	}
	if _, err := c.world.Run(context.Background(), engine.Goal{Limit: limit, WholeLimit: true}); err != nil {
		return "", err
	}
	return p.story(strings.Split(args["show"], ",")), nil
}

func (c *Case) get(args Args) (string, error) {
	resource, name, _ := strings.Cut(args["object"], "/")
	obj, ok := c.world.Stored().Get(resource, namespaceOf(resource), name)
	if !ok {
		return "not found", nil
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return "", err
	}
	var at any
	if err := json.Unmarshal(raw, &at); err != nil {
		return "", err
	}
	for key := range strings.SplitSeq(args["path"], ".") {
		if m, ok := at.(map[string]any); ok && key != "" {
			at = m[key]
		}
	}
	out, err := yaml.Marshal(at)
	return string(out), err
}

func namespaceOf(resource string) string {
	switch resource {
	case sim.Nodes, sim.Namespaces, sim.PriorityClasses, sim.PersistentVolumes, sim.StorageClasses, sim.VolumeAttachments:
		return ""
	}
	return "default"
}

// player is the plugin that takes a script's steps.
type player struct {
	steps []step
	log   *trace.Log
	fails []string
}

func (p *player) Name() string { return trace.ActorYou }

func (p *player) Start(h *sim.Hands) {
	for _, s := range p.steps {
		h.After(Begin.Add(s.at).Sub(h.Now()), func() {
			if err := s.do(h); err != nil {
				p.fails = append(p.fails, fmt.Sprintf("%s: %v", s.at, err))
			}
		})
	}
}

// story is the trace, an event a line: time, actor, object, what. Of writes
// only those show that failed, unless asked for.
func (p *player) story(show []string) string {
	var b strings.Builder
	for _, e := range p.log.Events() {
		if wanted(e, show) {
			detail, err := json.Marshal(e.Detail)
			if err != nil {
				detail = []byte(err.Error())
			}
			fmt.Fprintf(&b, "%8.3fs %-16s %s %s %s\n", e.Offset.Seconds(), e.Actor, e.Object, e.Detail.Type(), detail)
		}
	}
	for _, f := range p.fails {
		fmt.Fprintf(&b, "failed at %s\n", f)
	}
	return b.String()
}

func wanted(e trace.Event, show []string) bool {
	if len(show) > 0 && show[0] != "" {
		return slices.Contains(show, e.Detail.Type())
	}
	switch d := e.Detail.(type) {
	case trace.Wrote:
		return d.Error != ""
	case trace.Found, trace.Created, trace.Recorded, trace.Specified:
		return false
	}
	return true
}
