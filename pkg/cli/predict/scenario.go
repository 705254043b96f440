package predict

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
)

// Events are what happens besides the change, in short forms and in files.
type Events struct {
	Scenarios []string // --scenario: files of Scenarios
	Steps     []v1alpha1.ScenarioStep
	Faults    []v1alpha1.Fault

	steps, faults []string // as they were given
}

// AddScenarioFlags adds the flags of what happens besides the change.
func (o *Options) AddScenarioFlags(flags *pflag.FlagSet) {
	command.Group(flags, "What happens besides the change", func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&o.Scenarios, "scenario", nil, "A `FILE` of Scenarios: what happens, and how pods behave")
		flags.StringArrayVar(&o.steps, "at", nil, "What happens at a time, `TIME:WHAT`, as in 30s:scale=20, 90s:image=app=nginx:1.27 or 1m:node-down=node-3; can be repeated")
		flags.StringArrayVar(&o.faults, "fault", nil, "Requests that fail, `REQUEST:ANSWER`, as in create-pods:403@10s..40s; can be repeated")
	})
}

// completeEvents reads the short forms.
func (o *Options) completeEvents() error {
	for _, text := range o.steps {
		step, err := scenario.ParseStep(text)
		if err != nil {
			return fmt.Errorf("--at %w", err)
		}
		o.Steps = append(o.Steps, step)
	}
	for _, text := range o.faults {
		fault, err := scenario.ParseFault(text)
		if err != nil {
			return fmt.Errorf("--fault %w", err)
		}
		o.Faults = append(o.Faults, fault)
	}
	return nil
}

// happens says that something is to happen besides a change.
func (e *Events) happens() bool { return len(e.Scenarios)+len(e.Steps)+len(e.Faults) > 0 }

// readScenarios reads the files of --scenario, which hold nothing else.
func (s *scene) readScenarios(o *Options) error {
	set, err := o.reader(manifest.Strict).Read(o.Scenarios...)
	if err != nil {
		return err
	}
	if ignored := set.Ignored(); ignored != "" {
		return fmt.Errorf("%s: --scenario takes Scenarios, not %s", manifest.Printable(strings.Join(o.Scenarios, ", ")), ignored)
	}
	for _, item := range set.Items {
		if _, ok := item.Object.(*v1alpha1.Scenario); !ok {
			return &exit.At{Source: item.Source, Err: fmt.Errorf("--scenario takes Scenarios, not %s: pass it with -f", manifest.Name(item.Object))}
		}
	}
	if err := checkScenarios(set.Items); err != nil {
		return err
	}
	s.told(set.Items)
	return nil
}

// checkScenarios refuses scenarios that cannot be played, with the line.
func checkScenarios(items []manifest.Item) error {
	for _, item := range items {
		told, ok := item.Object.(*v1alpha1.Scenario)
		if !ok {
			continue
		}
		var wrong *scenario.Wrong
		if err := scenario.Check(&told.Spec); errors.As(err, &wrong) {
			return &exit.At{Source: item.At("spec." + wrong.Path), Err: err}
		}
	}
	return nil
}

// schedule adds the short forms to the story. Those that name no workload are
// about the only one that is planned.
func (s *scene) schedule(o *Options) error {
	for i, step := range o.Steps {
		if step.Target == "" {
			if len(s.targets) != 1 {
				return fmt.Errorf("--at %q: the plan has %d workloads: say which, as in %s:%s:…", o.steps[i], len(s.targets), step.At.Duration, refName(s.targets[0]))
			}
			step.Target, step.Namespace = refName(s.targets[0]), s.targets[0].Namespace
		} else if step.Namespace == "" {
			step.Namespace = o.Namespace
		}
		if err := scenario.CheckStep(&step); err != nil {
			return fmt.Errorf("--at %q: %w", o.steps[i], err)
		}
		s.story.Steps = append(s.story.Steps, step)
		s.facts = append(s.facts, "at "+o.steps[i])
	}
	s.story.Faults = append(s.story.Faults, o.Faults...)
	for _, fault := range o.faults {
		s.facts = append(s.facts, "fault "+fault)
	}
	s.horizon(o)
	return nil
}

// aftermath is how long a run is followed at least after the last scheduled event.
const aftermath = time.Hour

// horizon sets until when the run goes on in any case, and how far it is followed.
func (s *scene) horizon(o *Options) {
	s.until, s.limit = scenario.Horizon(&s.story), o.Limit
	if !o.raw.limitSet {
		s.limit = max(s.limit, s.until+aftermath)
	}
	if s.until > s.limit {
		s.warnings = append(s.warnings, fmt.Sprintf("the run is followed for %s (--limit): what is to happen later does not", s.limit))
		s.until = s.limit
	}
}
