package admission_test

import (
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/admission"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Case{
		Plugins: func(_ *testing.T, opts script.Args) []sim.Plugin {
			seconds := int64(admission.DefaultSeconds)
			if opts["short"] != "" {
				seconds = 5
			}
			return []sim.Plugin{admission.NewNamespaces(), admission.NewLimitRanger(), admission.NewPodSecurity(), admission.NewPriority(), admission.NewTolerations(seconds, seconds)}
		},
	})
}
