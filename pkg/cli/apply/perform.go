package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
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
	defer s.stopDriving()
	if err := s.drive(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the change is made, but this process cannot drive it: %w", err)
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
	for _, ns := range s.namespaces() {
		host, err := live.Start(ctx, config, live.Options{
			Namespace: ns, Problem: s.screen.problem,
			Lease: &live.Lease{Namespace: ns, Name: live.LeaseName, Waiting: func(holder string) {
				s.screen.problem(fmt.Errorf("waiting for %s, which holds the lease %s of namespace %s", holder, live.LeaseName, ns))
			}},
		}, deployment.Spec(s.Version), replicaset.Spec(s.Version))
		if err != nil {
			return err
		}
		s.hosts = append(s.hosts, host)
	}
	s.screen.note("driver", "no controller acts here: this process drives the rollout, as long as it runs")
	return nil
}

// namespaces are those of the workloads, each once.
func (s *session) namespaces() []string {
	var out []string
	for _, at := range s.workloads {
		if !slices.Contains(out, at.Namespace) {
			out = append(out, at.Namespace)
		}
	}
	return out
}

// occupied says whether somebody else runs the controllers: who holds the lease
// of a controller manager, or who looks at the change.
func (s *session) occupied(ctx context.Context) (bool, error) {
	config, err := s.Getter.ToRESTConfig()
	if err != nil {
		return false, err
	}
	// A user who may not read leases is not one to run controllers.
	for _, ns := range s.namespaces() {
		if err := live.CheckVacant(ctx, config, ns); err != nil {
			return true, nil
		}
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
	for _, host := range s.hosts {
		_ = host.Stop() // why it ended has been told, if it ended by itself
	}
	s.hosts = nil
}
