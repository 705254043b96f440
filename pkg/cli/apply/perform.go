package apply

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
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
	defer s.stopDriving()
	if err := s.embark(ctx); err != nil {
		return err
	}
	s.begun = time.Now()
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
	defer s.endInquiry()
	if err := s.inquire(ctx); err != nil {
		return fmt.Errorf("the change is made, but who acts on it cannot be told: %w", err)
	}
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
