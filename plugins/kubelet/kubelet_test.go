package kubelet_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// at is a moment of a script.
func at(d time.Duration) time.Time { return script.Begin.Add(d) }

// rules are by image: what comes before the colon says how a pod behaves. The
// scripts say what each means where they use it.
func rules() []kubelet.Rule {
	sec := func(n float64) kubelet.Range { return kubelet.Exactly(time.Duration(n * float64(time.Second))) }
	probed := kubelet.Profile{Probed: true}
	trouble := func(t kubelet.Trouble) kubelet.Profile { return kubelet.Profile{Probed: true, Trouble: &t} }
	exits := func(after kubelet.Range, code int32, reason string, times int) kubelet.Profile {
		return trouble(kubelet.Trouble{Crash: &kubelet.Exit{After: after, Code: code, Reason: reason, Times: times}})
	}
	fails := func(from, to time.Duration, kinds ...kubelet.ProbeKind) kubelet.Profile {
		w := kubelet.Window{From: at(from)}
		if to > 0 {
			w.To = at(to)
		}
		return trouble(kubelet.Trouble{Fails: []kubelet.Outage{{Window: w, Kinds: kinds}}})
	}
	profiles := map[string]kubelet.Profile{
		"slow":      {ReadyAfter: sec(10), ExitAfter: sec(5)},
		"clean":     {ExitAfter: sec(1), ExitsCleanly: true},
		"deaf":      {IgnoresSIGTERM: true},
		"unready":   {Never: kubelet.Unready},
		"missing":   {Never: kubelet.ImagePull},
		"crash":     {Never: kubelet.CrashLoop},
		"lock":      {Never: kubelet.WhileOthers, ReadyAfter: sec(2)},
		"probed":    probed,
		"late":      {Probed: true, AnswersAfter: sec(12)},
		"verylate":  {Probed: true, AnswersAfter: sec(200)},
		"lingers":   {Probed: true, ExitAfter: sec(5)},
		"decreed":   {ReadyAfter: sec(7)},
		"init3":     {Probed: true, InitFor: sec(3), ReadyAfter: sec(2)},
		"hooked":    {HookFor: sec(4), ExitAfter: sec(1)},
		"covered":   {HooksIncluded: true, ExitAfter: sec(1)},
		"pull5":     {PullFor: sec(5)},
		"outage":    trouble(kubelet.Trouble{Missing: []kubelet.Window{{To: at(35 * time.Second)}}}),
		"dies1":     exits(sec(5), 3, "", 0),
		"oom":       exits(sec(20), 137, "OOMKilled", 1),
		"longrun":   exits(sec(620), 1, "", 0),
		"badinit":   trouble(kubelet.Trouble{Container: "setup", Crash: &kubelet.Exit{After: sec(2), Code: 1, Times: 2}}),
		"unready60": fails(60*time.Second, 100*time.Second, kubelet.Readiness),
		"stuck60":   fails(60*time.Second, 0, kubelet.Liveness),
		"blip":      fails(61*time.Second, 69*time.Second),
	}
	var out []kubelet.Rule
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		out = append(out, kubelet.Rule{Match: kubelet.Match{Image: name + ":*"}, Profile: profiles[name]})
	}
	return out
}

// TestScripts: the image of a pod says how it behaves.
func TestScripts(t *testing.T) {
	var k *kubelet.Plugin
	act := func(_ *sim.Hands, args script.Args) error {
		return k.Act("default", args["pod"], kubelet.Act{Do: kubelet.Deed(args["deed"]), Reason: args["reason"], Message: args["message"]})
	}
	reach := func(do func(node string) trace.Seq) func(*sim.Hands, script.Args) error {
		return func(_ *sim.Hands, args script.Args) error { do(args["node"]); return nil }
	}
	script.Run(t, "testdata", script.Case{
		Plugins: func(*testing.T, script.Args) []sim.Plugin {
			k = kubelet.New(kubelet.Rules(rules(), kubelet.Profile{}))
			return []sim.Plugin{k}
		},
		Acts: map[string]func(*sim.Hands, script.Args) error{
			"act": act, "cut": reach(func(node string) trace.Seq { return k.Disconnect(node) }), "back": reach(func(node string) trace.Seq { return k.Connect(node) }),
		},
	})
}
