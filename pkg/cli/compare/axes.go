package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

const (
	rollingUpdate = string(appsv1.RollingUpdateDeploymentStrategyType)
	recreate      = string(appsv1.RecreateDeploymentStrategyType)
)

// Axes are the lists that strategies are combined from; an empty one is what
// the Deployment has.
type Axes struct {
	Surge, Unavailable []string
	Types              []string
	MinReady           []int32 // seconds

	minReady []string
}

func (a *Axes) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&a.Surge, "max-surge", nil, "Pods that may be there besides those wanted: a `LIST` of numbers and percentages")
	flags.StringSliceVar(&a.Unavailable, "max-unavailable", nil, "Pods that may be missing: a `LIST` of numbers and percentages")
	flags.StringSliceVar(&a.Types, "strategy", nil, "A `LIST` of RollingUpdate, Recreate or both")
	flags.StringSliceVar(&a.minReady, "min-ready", nil, "How long a pod must be ready to count as available: a `LIST`, as in 0s,10s")
}

// What is compared when nothing is said.
var (
	usualSurge       = []string{"25%", "50%", "100%"}
	usualUnavailable = []string{"0", "25%"}
)

// maxStrategies bounds the combinations.
const maxStrategies = 1000

var amount = regexp.MustCompile(`^[0-9]{1,9}%?$`)

// complete reads the lists.
func (a *Axes) complete() error {
	if err := checkAmounts("max-surge", a.Surge); err != nil {
		return err
	}
	if err := checkAmounts("max-unavailable", a.Unavailable); err != nil {
		return err
	}
	for _, text := range a.Unavailable {
		if percent, ok := strings.CutSuffix(text, "%"); ok && len(strings.TrimLeft(percent, "0")) > 2 && strings.TrimLeft(percent, "0") != "100" {
			return fmt.Errorf("--max-unavailable %s: at most 100%% can be unavailable", text)
		}
	}
	for _, text := range a.Types {
		if text != rollingUpdate && text != recreate {
			return fmt.Errorf("--strategy must be of [%s %s], not %q", rollingUpdate, recreate, text)
		}
	}
	for _, text := range a.minReady {
		seconds, err := parseSeconds(text)
		if err != nil {
			return fmt.Errorf("--min-ready %q: expected whole seconds, as in 10s", text)
		}
		a.MinReady = append(a.MinReady, seconds)
	}
	if n := max(len(a.Surge), 1) * max(len(a.Unavailable), 1) * max(len(a.MinReady), 1); n > maxStrategies {
		return fmt.Errorf("these lists make %d strategies: no more than %d are compared", n, maxStrategies)
	}
	return nil
}

func checkAmounts(flag string, list []string) error {
	for _, text := range list {
		if !amount.MatchString(text) {
			return fmt.Errorf("--%s %q: expected numbers and percentages, as in 1,25%%", flag, text)
		}
	}
	return nil
}

// parseSeconds reads 10s, 1m or 10.
func parseSeconds(text string) (int32, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return 0, strconv.ErrSyntax
		}
		return int32(n), nil
	}
	if d < 0 || d%time.Second != 0 || d/time.Second > math.MaxInt32 {
		return 0, strconv.ErrRange
	}
	return int32(d / time.Second), nil
}

// strategies are those to compare with the Deployment's own. What no server
// takes is left out, with a warning.
func (a *Axes) strategies(own v1alpha1.Strategy) (out []v1alpha1.Strategy, warning string) {
	readies := a.MinReady
	if len(readies) == 0 {
		readies = []int32{own.MinReadySeconds}
	}
	surges, unavailables, types := a.lists(own)
	add := func(s v1alpha1.Strategy) {
		if s != own && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, ready := range readies {
		for _, surge := range surges {
			for _, unavailable := range unavailables {
				if zero(surge) && zero(unavailable) {
					warning = fmt.Sprintf("left out: maxSurge %s with maxUnavailable %s, which an API server refuses", surge, unavailable)
					continue
				}
				add(v1alpha1.Strategy{Type: rollingUpdate, MaxSurge: surge, MaxUnavailable: unavailable, MinReadySeconds: ready})
			}
		}
		if slices.Contains(types, recreate) {
			add(v1alpha1.Strategy{Type: recreate, MinReadySeconds: ready})
		}
	}
	return out, warning
}

// lists are the axes with what they mean where they say nothing. No surge means
// that no rolling update is asked for.
func (a *Axes) lists(own v1alpha1.Strategy) (surges, unavailables, types []string) {
	surges, unavailables, types = a.Surge, a.Unavailable, a.Types
	rolls := len(surges)+len(unavailables) > 0 || slices.Contains(types, rollingUpdate)
	switch {
	case !rolls && len(types) == 0 && len(a.MinReady) == 0:
		return usualSurge, usualUnavailable, []string{rollingUpdate, recreate}
	case !rolls && len(types) == 0 && own.Type == recreate:
		return nil, nil, []string{recreate}
	case !rolls && len(types) > 0:
		return nil, nil, types
	}
	if len(surges) == 0 {
		surges = []string{orQuarter(own.MaxSurge)}
	}
	if len(unavailables) == 0 {
		unavailables = []string{orQuarter(own.MaxUnavailable)}
	}
	return surges, unavailables, types
}

// orQuarter is the server's default for what a Deployment does not have.
func orQuarter(text string) string {
	if text == "" {
		return "25%"
	}
	return text
}

func zero(text string) bool { return strings.Trim(text, "0%") == "" }

// strategyOf is the strategy of a Deployment as the trace tells of it.
func strategyOf(s trace.Specified) v1alpha1.Strategy {
	out := v1alpha1.Strategy{Type: s.Strategy, MinReadySeconds: s.MinReadySeconds}
	if s.Strategy == rollingUpdate {
		out.MaxSurge, out.MaxUnavailable = s.MaxSurge, s.MaxUnavailable
	}
	return out
}

// with gives one Deployment a strategy wherever it comes into the world.
func with(at trace.Ref, s v1alpha1.Strategy) func(manifest.Object) manifest.Object {
	return func(obj manifest.Object) manifest.Object {
		d, ok := obj.(*appsv1.Deployment)
		if !ok || d.Namespace != at.Namespace || d.Name != at.Name {
			return obj
		}
		d = d.DeepCopy()
		d.Spec.MinReadySeconds = s.MinReadySeconds
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.DeploymentStrategyType(s.Type)}
		if s.Type == rollingUpdate {
			surge, unavailable := intstr.Parse(s.MaxSurge), intstr.Parse(s.MaxUnavailable)
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}
		}
		return d
	}
}

// patchFor is the strategic merge patch that sets a strategy. Null takes away
// what Recreate must not have.
func patchFor(s v1alpha1.Strategy) map[string]any {
	strategy := map[string]any{"type": s.Type, "rollingUpdate": nil}
	if s.Type == rollingUpdate {
		strategy["rollingUpdate"] = map[string]any{"maxSurge": intstr.Parse(s.MaxSurge), "maxUnavailable": intstr.Parse(s.MaxUnavailable)}
	}
	return map[string]any{"spec": map[string]any{"strategy": strategy, "minReadySeconds": s.MinReadySeconds}}
}
