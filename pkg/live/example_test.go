package live_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// In a test with controller-runtime's envtest, config is what
// envtest.Environment.Start returns. Its API server has no controllers: with
// these, Deployments get ReplicaSets and those get pods. Nothing makes the pods
// ready; a test writes their status itself.
func ExampleStart() {
	roll := func(ctx context.Context, config *rest.Config) error {
		host, err := live.Start(ctx, config, live.Options{
			Trace: func(e trace.Event) {
				if scaled, ok := e.Detail.(trace.Scaled); ok {
					fmt.Printf("%s: %d -> %d because of %s\n", e.Object.Name, scaled.From, scaled.To, scaled.Why)
				}
			},
		}, deployment.Spec(rollout.LatestVersion), replicaset.Spec(rollout.LatestVersion))
		if err != nil {
			return err
		}
		<-host.Ready()
		// … create a Deployment, look at its pods …
		return host.Stop()
	}
	_ = roll
}
