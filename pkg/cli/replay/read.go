package replay

import (
	"fmt"
	"io"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/observed"
)

// maxFile is the largest file that is read, in bytes: the plan of a cluster's
// largest Deployment is smaller.
const maxFile = 1 << 30

// Read reads a plan or recording; - is standard input. What its events add up to
// is computed anew, since those who record a rollout may end before it does; a
// diagnosis is kept. Errors name the file.
func Read(path string, stdin io.Reader) (*v1alpha1.RolloutPlan, error) {
	in, name := stdin, "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, path
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	plan, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.Printable(name), err)
	}
	plan.Spec.Request = nil
	folded := timeline.NewPlan(plan.Spec, plan.Events)
	timeline.Restore(folded, plan.Status)
	return folded, nil
}

func decode(data []byte) (*v1alpha1.RolloutPlan, error) {
	format := observed.FormatOf(data)
	var seen []observed.Observation
	var err error
	switch format {
	case observed.WatchStream:
		seen, err = observed.ReadWatch(data)
	case observed.AuditLog:
		seen, err = observed.ReadAudit(data)
	default:
		return v1alpha1.DecodePlan(data)
	}
	if err != nil {
		return nil, err
	}
	told, err := live.Reenact(seen, rollout.LatestVersion)
	if err != nil {
		return nil, fmt.Errorf("this is taken for the output of %s: %w", format, err)
	}
	started := metav1.NewMicroTime(told.Started)
	plan := v1alpha1.NewRolloutPlan(v1alpha1.RolloutPlanSpec{
		Source: v1alpha1.SourceRecording, KubernetesVersion: rollout.LatestVersion.String(), StartTime: &started,
		Workloads: told.Workloads, World: []string{"from " + string(format) + ", since " + started.UTC().Format(time.RFC3339)},
	})
	plan.Events = told.Events
	return plan, nil
}
