package e2e

import (
	"fmt"
	"time"
)

// scenario is a story on the real control plane, in a namespace of its own.
type scenario struct {
	name  string
	also  string     // what else there is, as manifests
	start [][]app    // applied one after the other, each until it is complete
	begun [][]string // kubectl commands that bring it into the middle of something
	moves []move
	// paced: the limit on the controllers' calls sets the pace, and chance the
	// order; the prediction is judged by several real runs.
	paced bool
}

// weight is how many replicas it has, at first.
func (s scenario) weight() (replicas int) {
	var first []app
	if len(s.start) > 0 {
		first = s.start[0]
	} else if len(s.moves) > 0 {
		first = s.moves[0].apply
	}
	for _, a := range first {
		replicas += a.replicas
	}
	return replicas
}

// move is a change that is planned, made and compared.
type move struct {
	name string
	// apply are manifests for plan -f and kubectl apply -f; without any, plan
	// and do are the arguments of the two.
	apply []app
	plan  []string
	do    []string
}

// verb is a move whose two commands differ in words only.
func verb(plan []string, do ...string) move { return move{plan: plan, do: do} }

const (
	v1 = "example.com/web:1"
	v2 = "example.com/web:2"
	v3 = "example.com/web:3"
)

func web(replicas int) app {
	return app{name: "web", image: v1, replicas: replicas, ready: 2 * time.Second}
}

// slow pods leave time to plan in the middle of a rollout.
func slow(replicas int) app {
	a := web(replicas)
	a.ready = 6 * time.Second
	return a
}

func rolling(replicas int, surge, unavailable string) app {
	a := web(replicas)
	a.surge, a.unavailable = surge, unavailable
	return a
}

func change(a app, f func(*app)) app {
	f(&a)
	return a
}

// newImage is set as most people do it.
func newImage(image string, flags ...string) move {
	return verb(append([]string{"deploy/web", "--image", "app=" + image}, flags...), "set", "image", "deploy/web", "app="+image)
}

// goneAfter is what the pods' owner knows and no pod tells: how long they take to go.
var goneAfter = []string{"--exit-after", "1s..2s"}

func (s scenario) atTheLimit() scenario {
	s.paced = true
	return s
}

func settled(a app, m move) scenario { return scenario{start: [][]app{{a}}, moves: []move{m}} }

func (s scenario) named(name string) scenario {
	s.name = name
	return s
}

var inBegun = []string{"set", "image", "deploy/web", "app=" + v2}

func scenarios() []scenario {
	return []scenario{
		{name: "create", moves: []move{{apply: []app{web(5)}}}},
		settled(web(3), newImage(v2)).named("25% and 25% of 3"),
		settled(web(10), newImage(v2)).named("25% and 25% of 10"),
		settled(rolling(6, "0", "2"), newImage(v2)).named("surge 0"),
		settled(rolling(6, "2", "0"), newImage(v2)).named("unavailable 0"),
		settled(change(web(4), func(a *app) { a.recreate = true }), newImage(v2, goneAfter...)).named("Recreate"),
		{name: "scale during a rollout", start: [][]app{{slow(10)}}, begun: [][]string{inBegun},
			moves: []move{verb([]string{"deploy/web", "--replicas", "20"}, "scale", "deploy/web", "--replicas=20")}},
		{name: "second template mid-rollout", start: [][]app{{slow(10)}}, begun: [][]string{inBegun}, moves: []move{newImage(v3)}},
		{name: "pause, scale, resume", start: [][]app{{slow(10)}}, begun: [][]string{inBegun, {"rollout", "pause", "deploy/web"}},
			moves: []move{
				verb([]string{"deploy/web", "--replicas", "16"}, "scale", "deploy/web", "--replicas=16").called("scale"),
				verb([]string{"deploy/web", "--resume"}, "rollout", "resume", "deploy/web").called("resume"),
			}},
		{name: "undo", start: [][]app{{web(6)}, {web(6).with(v2)}},
			moves: []move{verb([]string{"deploy/web", "--undo"}, "rollout", "undo", "deploy/web")}},
		settled(change(web(4), func(a *app) { a.minReady = 3 }), newImage(v2)).named("minReadySeconds 3"),
		quota("full quota, no pod to spare", change(rolling(3, "1", "0"), func(a *app) { a.deadline = 8 }), 3),
		quota("full quota, one pod to spare", change(rolling(4, "1", "1"), func(a *app) { a.deadline = 8 }), 4),
		{name: "image that never gets ready", start: [][]app{{change(web(4), func(a *app) { a.deadline = 6 })}},
			moves: []move{{apply: []app{change(web(4), func(a *app) { a.image, a.deadline, a.ready = v2, 6, time.Hour })}, plan: []string{"--never-ready"}}}},
		{name: "two compete for the last room", start: [][]app{{narrow("first", 2), narrow("second", 1)}},
			moves: []move{{apply: []app{narrow("first", 2).with(v2), narrow("second", 1).with(v2)}, plan: goneAfter}}},
		settled(apart(rolling(3, "1", "0")), newImage(v2, goneAfter...)).named("anti-affinity, no node to spare"),
		settled(apart(rolling(3, "1", "1")), newImage(v2, goneAfter...)).named("anti-affinity, one pod to spare"),
		settled(web(100), newImage(v2)).named("25% and 25% of 100").atTheLimit(),
		settled(web(500), newImage(v2)).named("25% and 25% of 500").atTheLimit(),
	}
}

func (m move) called(name string) move {
	m.name = name
	return m
}

func quota(name string, a app, pods int) scenario {
	s := settled(a, newImage(v2, goneAfter...)).named(name)
	s.also = fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {pods: %d}}\n", pods)
	return s
}

// narrow pods share one node that has room for four.
func narrow(name string, replicas int) app {
	a := rolling(replicas, "1", "0")
	a.name, a.cpu, a.room = name, "16", "narrow"
	return a
}

// apart pods never share a node and have three.
func apart(a app) app {
	a.apart, a.room, a.deadline = true, "apart", 8
	return a
}
