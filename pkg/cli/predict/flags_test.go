package predict

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

func TestFailOn(t *testing.T) {
	w := v1alpha1.WorkloadStatus{Verdict: v1alpha1.Stuck, DurationSeconds: 300,
		Pods: v1alpha1.PodTotals{Peak: 13}, Available: v1alpha1.Availability{Least: 9, Desired: 10}}
	for list, want := range map[string]string{ // the conditions that are met, or the error
		"":                                "",
		"stuck":                           "stuck",
		"deadline,paused,limit":           "",
		"deadline, stuck":                 "stuck",
		"minAvailable<90%":                "", // 9 of 10 is exactly 90%
		"minAvailable<=90%":               "minAvailable<=90%",
		"minAvailable<91%,minAvailable<9": "minAvailable<91%",
		"minAvailable<10":                 "minAvailable<10",
		"peakPods>13,peakPods>=13":        "peakPods>=13",
		"peakPods > 12":                   "peakPods > 12",
		"duration>5m":                     "",
		"duration>4m59s":                  "duration>4m59s",
		"Stuck":                           "error: not one of",
		"minAvailable":                    "error: not one of",
		"minavailable<3":                  "error: not one of",
		"minAvailable<":                   `error: "" is not a number of pods or a percentage`,
		"minAvailable<-1":                 `error: "-1" is not`,
		"minAvailable<9e9%":               `error: "9e9%" is not`,
		"peakPods>5%":                     `error: "5%" is not a number of pods`,
		"duration>5":                      `error: "5" is not a duration`,
		"stuck,,deadline":                 "error: not one of",
	} {
		conditions, err := ParseFailOn(list)
		if strings.HasPrefix(want, "error: ") {
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "error: ")) {
				t.Errorf("%q: error %v, want %s", list, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", list, err)
			continue
		}
		var met []string
		for _, c := range conditions {
			if ok, _ := c.met(w); ok {
				met = append(met, c.Text)
			}
		}
		if got := strings.Join(met, ","); got != want {
			t.Errorf("%q: met %q, want %q", list, got, want)
		}
	}
}

// Nothing can be 90% of nothing: a Deployment of no pods meets no minAvailable.
func TestFailOnWithoutPods(t *testing.T) {
	conditions, err := ParseFailOn("minAvailable<90%")
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckFailOn(conditions, v1alpha1.RolloutPlanStatus{Workloads: []v1alpha1.WorkloadStatus{{}}}); err != nil {
		t.Error(err)
	}
}

func TestParseTargets(t *testing.T) {
	for args, want := range map[string]string{
		"":                           "[]",
		"deploy/web":                 "[{Deployment web}]",
		"deployment web":             "[{Deployment web}]",
		"deployments.apps/web":       "[{Deployment web}]",
		"deployment.v1.apps/web":     "[{Deployment web}]",
		"Deployment/Web":             "[{Deployment Web}]",
		"deploy/a rs/b":              "[{Deployment a} {ReplicaSet b}]",
		"replicasets.apps a b":       "[{ReplicaSet a} {ReplicaSet b}]",
		"deploy":                     "resource(s) were provided, but no name was specified: say deploy/NAME",
		"deploy/":                    `"deploy/" is not TYPE/NAME`,
		"deploy/a/b":                 `"deploy/a/b" is not TYPE/NAME`,
		"deploy a deploy/b":          "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form",
		"deploy/a b":                 `"b" is not TYPE/NAME`,
		"sts/db":                     `"sts" is not a type that rolls out: use deployment/NAME or replicaset/NAME`,
		"deployment.extensions/web":  `"deployment.extensions" is not a type that rolls out: use deployment/NAME or replicaset/NAME`,
		"deployments.example.com/it": `"deployments.example.com" is not a type that rolls out: use deployment/NAME or replicaset/NAME`,
	} {
		targets, err := ParseTargets(strings.Fields(args))
		got := fmt.Sprint(targets)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

func TestReadyAfterByProbes(t *testing.T) {
	probe := func(delay int32) *corev1.Probe { return &corev1.Probe{InitialDelaySeconds: delay} }
	for name, test := range map[string]struct {
		containers []corev1.Container
		want       string
	}{
		"no probe":            {[]corev1.Container{{}}, "2s"},
		"readiness":           {[]corev1.Container{{ReadinessProbe: probe(5)}}, "7s"},
		"startup":             {[]corev1.Container{{StartupProbe: probe(20)}}, "22s"},
		"longest of several":  {[]corev1.Container{{ReadinessProbe: probe(5)}, {StartupProbe: probe(9), ReadinessProbe: probe(3)}}, "11s"},
		"negative is nothing": {[]corev1.Container{{ReadinessProbe: probe(-5)}}, "2s"},
	} {
		if got := readyAfter(&corev1.PodSpec{Containers: test.containers}).String(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// An app is assumed to be up before its own probes would kill it.
func TestAnswersAfter(t *testing.T) {
	for name, test := range map[string]struct {
		container corev1.Container
		want      string
	}{
		"no probe":            {corev1.Container{}, "2s"},
		"what a server fills": {corev1.Container{LivenessProbe: &corev1.Probe{}}, "2s"},
		"impatient liveness":  {corev1.Container{LivenessProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 2}}, "1s"},
		"impatient startup":   {corev1.Container{StartupProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1}}, "0s"},
		"after a delay":       {corev1.Container{StartupProbe: &corev1.Probe{InitialDelaySeconds: 30, PeriodSeconds: 1, FailureThreshold: 1}}, "2s"},
		"readiness kills not": {corev1.Container{ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1}}, "2s"},
		"for ever":            {corev1.Container{LivenessProbe: &corev1.Probe{PeriodSeconds: 1<<31 - 1, FailureThreshold: 1<<31 - 1}}, "2s"},
	} {
		if got := answersAfter(&corev1.PodSpec{Containers: []corev1.Container{test.container}}).String(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestParseNodes(t *testing.T) {
	for s, want := range map[string]string{
		"":                            "3 cpu=1024 memory=8Ti pods=110",
		"5":                           "5 cpu=1024 memory=8Ti pods=110",
		"2:cpu=500m,memory=1Gi":       "2 cpu=500m memory=1Gi pods=110",
		"0":                           "0 cpu=1024 memory=8Ti pods=110",
		"1:pods=4,example.com/gpu=1":  "1 cpu=1024 memory=8Ti pods=4",
		"-1":                          "expected N",
		"5001":                        "expected N",
		"x":                           "expected N",
		"1:cpu":                       `"cpu" is not RESOURCE=QUANTITY`,
		"1:=1":                        `"=1" is not RESOURCE=QUANTITY`,
		"1:cpu=-1":                    `"cpu=-1" is not RESOURCE=QUANTITY`,
		"1:cpu=1,":                    `"" is not RESOURCE=QUANTITY`,
		"1:cpu=99999999999999999999x": "is not RESOURCE=QUANTITY",
	} {
		nodes, err := ParseNodes(s)
		got := fmt.Sprintf("%d cpu=%s memory=%s pods=%s", nodes.Count, nodes.Capacity.Cpu(), nodes.Capacity.Memory(), nodes.Capacity.Pods())
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// Made-up nodes grow with the pods, unless the user said how many there are.
func TestNodesForPods(t *testing.T) {
	for _, test := range []struct {
		flag string
		pods int64
		want int
	}{{"", 10, 3}, {"", 330, 3}, {"", 331, 4}, {"2", 1000, 2}, {"", 1 << 40, 5000}} {
		nodes, err := ParseNodes(test.flag)
		if err != nil {
			t.Fatal(err)
		}
		if got := nodes.forPods(test.pods).Count; got != test.want {
			t.Errorf("--nodes %q for %d pods: %d, want %d", test.flag, test.pods, got, test.want)
		}
	}
}

func TestExitAfterByPreStop(t *testing.T) {
	exec := func(command ...string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
	}
	for name, test := range map[string]struct {
		hook *corev1.LifecycleHandler
		want string
	}{
		"none":             {nil, "1s"},
		"sleep action":     {&corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 15}}, "16s"},
		"sleep":            {exec("sleep", "5"), "6s"},
		"shell":            {exec("/bin/sh", "-c", "sleep 7.5; nginx -s quit"), "8.5s"},
		"path and unit":    {exec("/usr/bin/sleep", "3s"), "4s"},
		"something else":   {exec("nginx", "-s", "quit"), "1s"},
		"no number":        {exec("sleep", "$N"), "1s"},
		"no number either": {exec("sleep", "NaN"), "1s"},
		"infinity":         {exec("sleep", "inf"), "1s"},
		"request":          {&corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}, "1s"},
	} {
		spec := corev1.PodSpec{Containers: []corev1.Container{{}, {Lifecycle: &corev1.Lifecycle{PreStop: test.hook}}}}
		if got := exitAfter(&spec).String(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
