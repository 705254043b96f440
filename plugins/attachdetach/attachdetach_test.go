package attachdetach_test

import (
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/attachdetach"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Case{
		Plugins: func(*testing.T, script.Args) []sim.Plugin { return []sim.Plugin{attachdetach.New()} },
	})
}
