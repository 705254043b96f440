package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
)

// perform makes the change and follows the rollout to its end.
func (j *job) perform(ctx context.Context) error {
	screen, err := j.newScreen()
	if err != nil {
		return err
	}
	defer screen.close()
	workloads := j.plan.Plan.Spec.Workloads
	follower, err := j.Cluster.Follow(ctx, live.FollowOptions{
		Workloads: workloads, Selectors: j.plan.Selectors, Version: j.Version,
		Trace: screen.take, Problem: screen.problem,
	})
	if err != nil {
		return err
	}
	defer follower.Close()
	s := &session{job: j, screen: screen, follower: follower, workloads: workloads}
	screen.began(j.spec(follower.Begin()))
	// The change itself is not given up half-way.
	err = follower.Making(context.WithoutCancel(ctx), func() error {
		said, err := j.change(context.WithoutCancel(ctx), kubectl.DryRunNone)
		if j.people && said != "" {
			_ = j.print("\n" + said)
		}
		return err
	})
	if err != nil {
		return err
	}
	if j.people {
		fmt.Fprintln(j.Out)
	}
	if err := s.drive(ctx); err != nil {
		return err
	}
	defer s.stopDriving()
	return s.finish(ctx, s.watch(ctx))
}

// spec is the question of a real rollout.
func (j *job) spec(start time.Time) v1alpha1.RolloutPlanSpec {
	at := metav1.NewMicroTime(start)
	return v1alpha1.RolloutPlanSpec{
		KubernetesVersion: j.Version.String(), Source: v1alpha1.SourceCluster, Context: j.Cluster.Context,
		LimitSeconds: j.Timeout.Seconds(), StartTime: &at, Workloads: j.plan.Plan.Spec.Workloads,
		World: []string{"a real rollout"}, Predicted: timeline.Predicted(j.plan.Plan),
	}
}

// idleness is how long --driver=auto waits for a controller to look at the change.
const idleness = 3 * time.Second

// drive runs our own controllers where nobody else does.
func (s *session) drive(ctx context.Context) error {
	switch s.Driver {
	case driverCluster:
		return nil
	case driverAuto:
		occupied, err := s.occupied(ctx)
		if occupied || err != nil {
			return err
		}
	}
	config, err := s.Getter.ToRESTConfig()
	if err != nil {
		return err
	}
	s.host, err = live.Start(ctx, config, live.Options{
		Namespace: s.workloads[0].Namespace, Problem: s.screen.problem,
		Lease: &live.Lease{Namespace: s.workloads[0].Namespace, Name: live.LeaseName, Waiting: func(holder string) {
			s.screen.problem(fmt.Errorf("waiting for %s, which holds the lease %s", manifest.Printable(holder), live.LeaseName))
		}},
	}, deployment.Spec(s.Version), replicaset.Spec(s.Version))
	if err == nil {
		s.screen.note("driver", "no controller acts here: this process drives the rollout, as long as it runs")
	}
	return err
}

// occupied says whether somebody else runs the controllers: who holds the lease
// of a controller manager, or who looks at the change.
func (s *session) occupied(ctx context.Context) (bool, error) {
	config, err := s.Getter.ToRESTConfig()
	if err != nil {
		return false, err
	}
	var held *live.OccupiedError
	// A user who may not read leases is not one to run controllers.
	if err := live.CheckVacant(ctx, config, s.workloads[0].Namespace); errors.As(err, &held) || err != nil {
		return true, nil
	}
	deadline := time.After(idleness)
	for {
		if s.observed() {
			return true, nil
		}
		select {
		case <-s.follower.Changed():
		case <-deadline:
			return false, nil
		case <-ctx.Done():
			return true, nil // followed, and told as interrupted
		}
	}
}

// observed says whether a controller has seen each workload as it is now.
func (s *session) observed() bool {
	snapshot := s.follower.Snapshot()
	for _, d := range snapshot.Deployments {
		if s.follower.Lags(d) || d.Status.ObservedGeneration < d.Generation {
			return false
		}
	}
	for _, rs := range snapshot.ReplicaSets {
		if s.follower.Lags(rs) || rs.Status.ObservedGeneration < rs.Generation {
			return false
		}
	}
	return len(snapshot.Deployments)+len(snapshot.ReplicaSets) > 0
}

func (s *session) stopDriving() {
	if s.host != nil {
		_ = s.host.Stop() // why it ended has been told, if it ended by itself
	}
}
