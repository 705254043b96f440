package predict

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Condition is one condition of --fail-on.
type Condition struct {
	Text string
	// met reports whether it is met, and with what.
	met func(v1alpha1.WorkloadStatus) (bool, string)
}

// FailOnHelp lists what a condition can be.
const FailOnHelp = "stuck, deadline, paused, limit, minAvailable<N or <P%, peakPods>N, duration>TIME"

// verdicts are the conditions that name how a rollout ends.
var verdicts = map[string]v1alpha1.Verdict{
	"stuck": v1alpha1.Stuck, "deadline": v1alpha1.DeadlineExceeded, "paused": v1alpha1.Paused, "limit": v1alpha1.LimitReached,
}

// ParseFailOn reads the comma list of conditions.
func ParseFailOn(list string) ([]Condition, error) {
	var out []Condition
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	for _, text := range strings.Split(list, ",") {
		c, err := parseCondition(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--fail-on %q: %w", text, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// CheckFailOn is an *exit.Error that names every condition that is met, nil when none is.
func CheckFailOn(conditions []Condition, status v1alpha1.RolloutPlanStatus) error {
	var met []string
	for _, c := range conditions {
		for _, w := range status.Workloads {
			if ok, how := c.met(w); ok {
				met = append(met, fmt.Sprintf("%s: %s: %s", c.Text, refName(w.Object), how))
			}
		}
	}
	if len(met) == 0 {
		return nil
	}
	return &exit.Error{Code: exit.Condition, Message: "--fail-on " + strings.Join(met, "; ")}
}

// refName is kubectl's TYPE/NAME.
func refName(ref trace.Ref) string { return strings.ToLower(ref.Kind) + "/" + ref.Name }

func parseCondition(text string) (Condition, error) {
	if verdict, ok := verdicts[text]; ok {
		return Condition{text, func(w v1alpha1.WorkloadStatus) (bool, string) {
			// A deadline that was missed on the way fails kubectl rollout status, too.
			missed := verdict == v1alpha1.DeadlineExceeded && len(w.DeadlineMissedSeconds) > 0
			if missed {
				return true, string(verdict)
			}
			return w.Verdict == verdict, string(w.Verdict)
		}}, nil
	}
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return Condition{}, fmt.Errorf("not one of %s", FailOnHelp)
	}
	name, operator, value := strings.TrimSpace(text[:at]), text[at:at+1], text[at+1:]
	if strings.HasPrefix(value, "=") {
		operator, value = operator+"=", value[1:]
	}
	value = strings.TrimSpace(value)
	var met func(v1alpha1.WorkloadStatus) (bool, string)
	var err error
	switch name {
	case "minAvailable":
		met, err = available(operator, value)
	case "peakPods":
		met, err = peak(operator, value)
	case "duration":
		met, err = lasting(operator, value)
	default:
		return Condition{}, fmt.Errorf("not one of %s", FailOnHelp)
	}
	return Condition{text, met}, err
}

func available(operator, value string) (func(v1alpha1.WorkloadStatus) (bool, string), error) {
	digits, percent := strings.CutSuffix(value, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not a number of pods or a percentage", value)
	}
	return func(w v1alpha1.WorkloadStatus) (bool, string) {
		least, bound := int64(w.Available.Least), n
		if percent {
			// Whole numbers, so that 90% of 10 is exactly 9.
			least, bound = 100*least, n*int64(w.Available.Desired)
		}
		return compare(least, operator, bound), fmt.Sprintf("%d of %d available", w.Available.Least, w.Available.Desired)
	}, nil
}

func peak(operator, value string) (func(v1alpha1.WorkloadStatus) (bool, string), error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not a number of pods", value)
	}
	return func(w v1alpha1.WorkloadStatus) (bool, string) {
		return compare(int64(w.Pods.Peak), operator, n), fmt.Sprintf("%d pods at once", w.Pods.Peak)
	}, nil
}

func lasting(operator, value string) (func(v1alpha1.WorkloadStatus) (bool, string), error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("%q is not a duration such as 5m or 90s", value)
	}
	return func(w v1alpha1.WorkloadStatus) (bool, string) {
		took := time.Duration(w.DurationSeconds * float64(time.Second))
		return compare(int64(took), operator, int64(d)), took.Round(100 * time.Millisecond).String()
	}, nil
}

func compare(a int64, operator string, b int64) bool {
	switch operator {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}
