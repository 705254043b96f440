package hpa

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// TestArithmetic works out sizes by hand. The directives are:
//
//	limit current=5 wanted=7 min=3 max=8
//	limitBy current= wanted= min= max= [up=Type:value/seconds,…] [down=…] [select=Min|Max|Disabled] [ups=change@ago,…] [downs=…]
//	stabilize wanted=3 log=replicas@ago,…            with the length of the log after it
//	stabilizeBy current= wanted= upWindow= downWindow= log=
//	usage current= target= [request=1000] [tolerance=0.1]    pods, one a line, by usage against the average or, with requests, the percentage
//	ratio current= value= target= ready=             a value about all pods
//	perPod replicas= value= target=                  a value shared by all pods
//
// A pod is: milli-units it uses, or none; [unready] [phase=Running] [started=1h] [since=1h] [going].
func TestArithmetic(t *testing.T) {
	datadriven.Walk(t, "testdata/arithmetic", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			q := question{t, d}
			switch d.Cmd {
			case "limit":
				a := limit(q.int("current"), q.int("wanted"), q.int("min"), q.int("max"))
				return fmt.Sprintf("%d %s\n", a.replicas, a.reason)
			case "limitBy":
				m := memory{ups: q.scalings("ups"), downs: q.scalings("downs")}
				a := m.limitBy(q.behavior(), q.int("current"), q.int("wanted"), q.int("min"), q.int("max"), now)
				return fmt.Sprintf("%d %s\n", a.replicas, a.reason)
			case "stabilize":
				m := memory{recommendations: q.log()}
				highest := m.stabilize(q.int("wanted"), now)
				return fmt.Sprintf("%d, %d remembered\n", highest, len(m.recommendations))
			case "stabilizeBy":
				m := memory{recommendations: q.log()}
				a := m.stabilizeBy(q.behavior(), q.int("current"), q.int("wanted"), now)
				return fmt.Sprintf("%d %s, %d remembered\n", a.replicas, a.reason, len(m.recommendations))
			case "usage":
				return q.usage()
			case "ratio":
				wanted, err := replicasForRatio(float64(q.int("value"))/float64(q.int("target")), q.ready(int(q.int("ready"))), q.int("current"), tolerances{.1, .1})
				return answer(wanted, err)
			case "perPod":
				wanted, average := replicasPerPod(q.large("value"), int64(q.int("target")), q.int("replicas"), tolerances{.1, .1})
				return fmt.Sprintf("%d, each %d\n", wanted, average)
			}
			d.Fatalf(t, "unknown directive %q", d.Cmd)
			return ""
		})
	})
}

func answer(wanted int32, err error) string {
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	return fmt.Sprintf("%d\n", wanted)
}

type question struct {
	t *testing.T
	d *datadriven.TestData
}

func (q question) word(key string) string {
	for _, a := range q.d.CmdArgs {
		if a.Key == key {
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func (q question) large(key string) int64 {
	if q.word(key) == "max" {
		return math.MaxInt64
	}
	return int64(q.int(key))
}

func (q question) int(key string) (n int32) {
	if w := q.word(key); w != "" {
		if _, err := fmt.Sscan(w, &n); err != nil {
			q.d.Fatalf(q.t, "%s: %v", key, err)
		}
	}
	return n
}

// at reads 5@1m as five, one minute ago.
func (q question) at(item string) (n int32, at time.Time) {
	value, ago, _ := strings.Cut(item, "@")
	d, err := time.ParseDuration(ago)
	if _, scanErr := fmt.Sscan(value, &n); err != nil || scanErr != nil {
		q.d.Fatalf(q.t, "%q is not number@duration", item)
	}
	return n, now.Add(-d)
}

func (q question) scalings(key string) (out []scaling) {
	for item := range strings.SplitSeq(q.word(key), ",") {
		if item != "" {
			n, at := q.at(item)
			out = append(out, scaling{n, at})
		}
	}
	return out
}

func (q question) log() (out []recommendation) {
	for item := range strings.SplitSeq(q.word("log"), ",") {
		if item != "" {
			n, at := q.at(item)
			out = append(out, recommendation{n, at})
		}
	}
	return out
}

// behavior is what the words say, with the API server's defaults for the rest.
func (q question) behavior() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	rules := func(policies, window string) *autoscalingv2.HPAScalingRules {
		out := &autoscalingv2.HPAScalingRules{}
		for item := range strings.SplitSeq(q.word(policies), ",") {
			if item == "" {
				continue
			}
			var p autoscalingv2.HPAScalingPolicy
			kind, rest, _ := strings.Cut(item, ":")
			p.Type = autoscalingv2.HPAScalingPolicyType(kind)
			if _, err := fmt.Sscanf(rest, "%d/%d", &p.Value, &p.PeriodSeconds); err != nil {
				q.d.Fatalf(q.t, "%q: %v", item, err)
			}
			out.Policies = append(out.Policies, p)
		}
		if s := autoscalingv2.ScalingPolicySelect(q.word("select")); s != "" {
			out.SelectPolicy = &s
		}
		if q.word(window) != "" {
			n := q.int(window)
			out.StabilizationWindowSeconds = &n
		}
		return out
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rules("up", "upWindow"), ScaleDown: rules("down", "downWindow")}
	defaults.Autoscaler(hpa)
	return hpa.Spec.Behavior
}

// usage is what the pods' usage asks for, and what it was found to be.
func (q question) usage() string {
	var pods []*corev1.Pod
	samples := map[string]sample{}
	for i, line := range strings.Split(strings.TrimSpace(q.d.Input), "\n") {
		pod, used := q.pod(fmt.Sprintf("pod-%d", i), strings.Fields(line))
		pods = append(pods, pod)
		if used >= 0 {
			samples[pod.Name] = sample{value: used, at: now, window: time.Minute}
		}
	}
	tolerated := tolerances{.1, .1}
	if w := q.word("tolerance"); w != "" {
		if _, err := fmt.Sscanf(w, "%f,%f", &tolerated.down, &tolerated.up); err != nil {
			q.d.Fatalf(q.t, "%v", err)
		}
	}
	g := groupPods(pods, samples, q.word("request") != "", now)
	if err := g.drop(samples); err != nil {
		return answer(0, err)
	}
	weight := plain(int64(q.int("target")))
	if q.word("request") != "" {
		requests, err := requestsOf(pods, q.word("container"), corev1.ResourceCPU)
		if err != nil {
			return answer(0, err)
		}
		weight = utilization(q.int("target"), requests)
	}
	wanted, seen, err := replicasFor(samples, g, weight, q.int("current"), tolerated)
	if err != nil {
		return answer(0, err)
	}
	return fmt.Sprintf("%d: %d%% average %d ratio %.3f\n", wanted, seen.utilization, seen.average, seen.ratio)
}

func (q question) pod(name string, words []string) (*corev1.Pod, int64) {
	args := map[string]string{"phase": "Running", "started": "1h", "since": "1h"}
	ready := corev1.ConditionTrue
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		args[key] = value
		switch key {
		case "unready":
			ready = corev1.ConditionFalse
		case "going":
			pod.DeletionTimestamp = &metav1.Time{Time: now}
		}
	}
	_, started := q.at("0@" + args["started"])
	_, since := q.at("0@" + args["since"])
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodPhase(args["phase"]), StartTime: &metav1.Time{Time: started},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(since)}},
	}
	c := corev1.Container{Name: "app"}
	if n := q.int("request"); n > 0 && args["silent"] == "" {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(n), resource.DecimalSI)}
	}
	pod.Spec.Containers = []corev1.Container{c}
	used := int64(-1)
	if words[0] != "none" {
		if _, err := fmt.Sscan(words[0], &used); err != nil {
			q.d.Fatalf(q.t, "%v", err)
		}
	}
	return pod, used
}

func (q question) ready(n int) (pods []*corev1.Pod) {
	for i := range n {
		pod, _ := q.pod(fmt.Sprintf("pod-%d", i), []string{"none"})
		pods = append(pods, pod)
	}
	return pods
}
