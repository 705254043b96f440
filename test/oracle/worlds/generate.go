package worlds

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// generate draws a world of at least so many actions. Some are watched for
// long after the last one: until rollouts time out and expectations expire.
func generate(seed uint64, actions int) script {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x0c1e)), s: script{seed: seed}}
	g.setting()
	for range actions {
		g.action()
	}
	g.at += time.Duration(g.Int64N(int64(20 * time.Second)))
	if g.chance(20) {
		g.at += 12 * time.Minute
	}
	g.add("end", "all")
	return g.s
}

type generator struct {
	*rand.Rand
	s  script
	at time.Duration
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

// add appends an action; args are key, value, key, value …; an empty value leaves the argument out.
func (g *generator) add(verb, target string, args ...string) {
	a := action{at: g.at, verb: verb, target: target}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i+1] != "" {
			a.args = append(a.args, arg{args[i], args[i+1]})
		}
	}
	g.s.actions = append(g.s.actions, a)
}

func (g *generator) pass() {
	switch g.IntN(24) {
	case 0:
		if g.chance(25) {
			g.at += time.Duration(g.Int64N(int64(12 * time.Minute)))
		}
	case 1, 2:
		g.at += time.Duration(g.Int64N(int64(70 * time.Second)))
	case 3, 4, 5, 6, 7, 8:
		g.at += time.Duration(g.Int64N(int64(6 * time.Second)))
	case 9, 10, 11, 12, 13, 14:
		g.at += time.Duration(g.Int64N(int64(300 * time.Millisecond)))
	default:
		g.at += time.Duration(g.Int64N(int64(20 * time.Millisecond)))
	}
	g.at++ // no two actions at one moment, none at a timer's
}

// setting is how the world around the controllers works.
func (g *generator) setting() {
	g.add("watch", "all", "low", g.pick("0s", "0s", "3ms"), "high", g.pick("0s", "0s", "10ms", "60ms"), "tail", g.pick("0s", "0s", "150ms", "3s"))
	if g.chance(80) {
		g.add("kubelet", "all", "bind", g.pick("10ms", "500ms"), "ready", g.pick("50ms", "2s", "8s"), "stop", g.pick("20ms", "1s", "10s"),
			"never", strconv.Itoa(g.IntN(4)*10), "crash", strconv.Itoa(g.IntN(3)*10))
	}
	if g.chance(10) {
		g.add("load", g.pick(odd...))
	}
	g.deployment("web")
	if g.chance(30) {
		g.deployment("api")
	}
	if g.chance(5) { // two with one selector
		g.add("deployment", "also", "app", "web", "replicas", g.replicas(), "surge", "1", "unavailable", "1", "strategy", "RollingUpdate", "image", "2")
	}
	if g.chance(25) {
		g.at += time.Duration(g.Int64N(int64(time.Second)))
		g.add("replicaset", "bare", "replicas", strconv.Itoa(g.IntN(4)), "app", g.pick("web", "api", "other"), "image", strconv.Itoa(g.IntN(3)))
	}
}

func (g *generator) limit() string {
	return g.pick("0", "1", "2", "3", "25%", "25%", "50%", "100%", "10%", "34%")
}

func (g *generator) replicas() string {
	if g.chance(2) {
		return strconv.Itoa(10 + g.IntN(30))
	}
	return strconv.Itoa(g.IntN(7))
}

func (g *generator) deadline() string {
	return g.pick("", "", "", "600", "60", "5", "2147483647")
}

func (g *generator) deployment(name string) {
	surge, unavailable := g.limit(), g.limit()
	minReady, deadline := g.pick("", "", "", "1", "5", "30"), g.deadline()
	if deadline == "5" { // must be more than minReady
		minReady = ""
	}
	strategy := g.pick("RollingUpdate", "RollingUpdate", "RollingUpdate", "Recreate")
	g.add("deployment", name, "replicas", g.replicas(), "surge", surge, "unavailable", unavailable, "strategy", strategy,
		"minReady", minReady, "deadline", deadline,
		"history", g.pick("", "", "0", "1", "2", "3"), "paused", g.pick("", "", "", "", "true"), "image", strconv.Itoa(g.IntN(2)))
}

func (g *generator) name() string { return g.pick("web", "web", "web", "api") }

func (g *generator) action() {
	g.pass()
	index := strconv.Itoa(g.IntN(64))
	switch n := g.IntN(100); {
	case n < 32:
		g.change()
	case n < 66:
		g.pod(index)
	case n < 76:
		g.set(index)
	case n < 86:
		g.fault()
	case n < 93:
		g.add("hold", g.pick("deployment", "replicaset"), "resource", g.pick("deployments", "replicasets", "replicasets", "pods", "pods"),
			"for", (time.Duration(g.Int64N(int64(time.Second)))).String())
	case n < 95:
		g.add("delete", g.pick("deployment/web", "deployment/web", "deployment/api", "replicaset/"+index, "replicaset/"+index), "policy", g.pick("", "Background", "Foreground", "Orphan"))
	case n < 97:
		g.deployment(g.name())
	case n < 98:
		g.add("orphan", "p"+index, "app", g.pick("web", "api", "other"), "image", strconv.Itoa(g.IntN(3)), "hash", index)
	case n < 99:
		g.add("replicaset", "bare"+g.pick("", "1", "2"), "replicas", strconv.Itoa(g.IntN(4)), "app", g.pick("web", "api", "other"), "image", strconv.Itoa(g.IntN(4)))
	default:
		g.add("collide", g.name(), "image", strconv.Itoa(g.IntN(4)), "own", g.pick("", "true"))
	}
}

// change is what people do to a Deployment.
func (g *generator) change() {
	kv := []string{}
	put := func(k, v string) { kv = append(kv, k, v) }
	switch g.IntN(14) {
	case 0, 1, 2, 3:
		put("image", strconv.Itoa(g.IntN(5)))
	case 4, 5, 6:
		put("replicas", g.replicas())
	case 7:
		put("paused", g.pick("true", "false"))
	case 8:
		put("annotation.note", g.pick("a", "b", "c"))
	case 9:
		put("surge", g.limit())
		put("unavailable", g.limit())
	case 10:
		put("minReady", g.pick("0", "1", "7", "30"))
	case 11:
		put("deadline", g.pick("600", "60", "31", "2147483647"))
		put("history", g.pick("", "0", "1", "2", "2147483647"))
	case 12:
		put("annotation.deprecated.deployment.rollback.to", g.pick("0", "1", "2", "3", "9", "x"))
	case 13:
		put("strategy", g.pick("RollingUpdate", "Recreate"))
		put("surge", "25%")
		put("unavailable", "1")
	}
	if g.chance(15) {
		put(g.pick("image", "replicas"), strconv.Itoa(g.IntN(5)))
	}
	if g.chance(10) {
		put("label.x", g.pick("1", "2"))
	}
	g.add("set", g.name(), kv...)
}

// pod is what becomes of a pod.
func (g *generator) pod(index string) {
	switch n := g.IntN(20); {
	case n < 7:
		g.add("pod", index, "phase", "Running", "ready", "True", "node", g.pick("n1", "n2", "n3"))
	case n < 10:
		g.add("pod", index, "phase", "Running", "ready", "False")
	case n < 12:
		g.add("pod", index, "phase", g.pick("Failed", "Succeeded", "Unknown"))
	case n < 15:
		g.add("kill", index, "grace", g.pick("", "0", "1"))
	case n < 16:
		g.add("relabel", "pod/"+index, "app", g.pick("web", "api", "gone", "none"), "hash", g.pick("", "keep"))
	case n < 17:
		g.add("annotate", "pod/"+index, "controller.kubernetes.io/pod-deletion-cost", g.pick("5", "-1", "x"))
	case n < 18:
		g.add("free", "pod/"+index, "to", g.pick("", "", "Thing"))
	case n < 19:
		g.add("pod", index, "phase", "Running", "ready", "True", "restarts", strconv.Itoa(g.IntN(4)))
	default:
		g.add("all", "pods", "phase", "Running", "ready", g.pick("True", "True", "False"))
	}
}

// set is what people do to a ReplicaSet behind its Deployment's back.
func (g *generator) set(index string) {
	switch g.IntN(10) {
	case 9:
		g.add("status", index, "condition", g.pick("", "Other"), "terminating", g.pick("", "unknown"))
	case 0, 1, 2:
		g.add("resize", index, "replicas", g.replicas())
	case 3:
		g.add("relabel", "replicaset/"+index, "app", g.pick("web", "api", "gone", "none"), "hash", "keep")
	case 4:
		g.add("annotate", "replicaset/"+index, "deployment.kubernetes.io/"+g.pick("desired-replicas", "max-replicas", "revision", "revision-history"), g.pick("", "0", "3", "12", "x", "7"))
	case 5:
		g.add("free", "replicaset/"+index, "to", g.pick("", "", "Thing"))
	case 6:
		g.add("annotate", "replicaset/"+index, "note", g.pick("a", "z"))
	case 7:
		g.add("resize", index, "minReady", strconv.Itoa(g.IntN(9)))
	case 8:
		g.add("annotate", "replicaset/"+index, "deployment.kubernetes.io/desired-replicas", "-")
	}
}

func (g *generator) fault() {
	what := g.pick("POST pods", "POST pods", "POST replicasets", "POST replicasets", "PUT replicasets", "PUT replicasets", "PUT deployments",
		"DELETE pods", "DELETE replicasets", "PATCH pods", "PATCH replicasets", "GET deployments", "GET replicasets")
	verb, resource, _ := strings.Cut(what, " ")
	sub := ""
	if verb == "PUT" {
		sub = g.pick("", "/status", "*")
	}
	g.add("fault", verb, "resource", resource, "sub", sub, "kind", faultKinds[g.IntN(len(faultKinds))],
		"skip", g.pick("", "", "1", "3"), "times", g.pick("1", "1", "2", "4", "20"))
}
