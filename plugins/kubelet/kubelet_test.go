package kubelet_test

import (
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// TestScripts: the image of a pod says how it behaves.
func TestScripts(t *testing.T) {
	rules := []kubelet.Rule{
		{Match: kubelet.Match{Image: "slow:*"}, Profile: kubelet.Profile{ReadyAfter: kubelet.Exactly(10 * time.Second), ExitAfter: kubelet.Exactly(5 * time.Second)}},
		{Match: kubelet.Match{Image: "clean:*"}, Profile: kubelet.Profile{ExitAfter: kubelet.Exactly(time.Second), ExitsCleanly: true}},
		{Match: kubelet.Match{Image: "deaf:*"}, Profile: kubelet.Profile{IgnoresSIGTERM: true}},
		{Match: kubelet.Match{Image: "unready:*"}, Profile: kubelet.Profile{Never: kubelet.Unready}},
		{Match: kubelet.Match{Image: "missing:*"}, Profile: kubelet.Profile{Never: kubelet.ImagePull}},
		{Match: kubelet.Match{Image: "crash:*"}, Profile: kubelet.Profile{Never: kubelet.CrashLoop}},
		{Match: kubelet.Match{Image: "lock:*"}, Profile: kubelet.Profile{Never: kubelet.WhileOthers, ReadyAfter: kubelet.Exactly(2 * time.Second)}},
	}
	var k *kubelet.Plugin
	act := func(_ *sim.Hands, args script.Args) error {
		return k.Act("default", args["pod"], kubelet.Act{Do: kubelet.Deed(args["deed"]), Reason: args["reason"], Message: args["message"]})
	}
	script.Run(t, "testdata", script.Case{
		Plugins: func(*testing.T, script.Args) []sim.Plugin {
			k = kubelet.New(kubelet.Rules(rules, kubelet.Profile{}))
			return []sim.Plugin{k}
		},
		Acts: map[string]func(*sim.Hands, script.Args) error{"act": act},
	})
}
