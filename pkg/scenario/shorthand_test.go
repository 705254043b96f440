package scenario_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
)

// fields is a value as the YAML that people would write, without what is empty.
func fields(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for key, value := range all {
		if value == "0s" {
			delete(all, key)
		}
	}
	data, err = json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestShortFormsOfSteps(t *testing.T) {
	for text, want := range map[string]string{
		"30s:scale=20":                        `{at: 30s, replicas: 20}`,
		"1m30s:deploy/web:scale=0":            `{at: 1m30s, target: deploy/web, replicas: 0}`,
		"90s:image=nginx:1.27":                `{at: 1m30s, images: {"*": "nginx:1.27"}}`,
		"90s:image=app=reg:5000/nginx@sha256": `{at: 1m30s, images: {app: "reg:5000/nginx@sha256"}}`,
		"1s:deploy/web:image=app=nginx:2":     `{at: 1s, target: deploy/web, images: {app: "nginx:2"}}`,
		"1s:restart":                          `{at: 1s, restart: true}`,
		"1s:undo":                             `{at: 1s, undo: 0}`,
		"1s:undo=3":                           `{at: 1s, undo: 3}`,
		"1s:pause":                            `{at: 1s, pause: true}`,
		"1s:resume":                           `{at: 1s, resume: true}`,
		"1m:node-down=n3":                     `{at: 1m0s, target: node/n3, node: down}`,
		"1m:node-up=n3":                       `{at: 1m0s, target: node/n3, node: up}`,
		"1m:node-add=n9,like=n3":              `{at: 1m0s, target: node/n9, node: add, like: n3}`,
		"1m:node-delete=n3":                   `{at: 1m0s, target: node/n3, node: delete}`,
		"1m:cordon=n*":                        `{at: 1m0s, target: "node/n*", node: cordon}`,
		"1m:uncordon=n3":                      `{at: 1m0s, target: node/n3, node: uncordon}`,
		"1m:drain=n3":                         `{at: 1m0s, target: node/n3, node: drain}`,
		"1m:delete-pod=web-*,first=2":         `{at: 1m0s, target: "pod/web-*", first: 2, delete: Background}`,
		"1m:evict=web-*":                      `{at: 1m0s, target: "pod/web-*", pod: evict}`,
		"1m:crash=web-x":                      `{at: 1m0s, target: pod/web-x, pod: crash}`,
		"1m:load=1500m":                       `{at: 1m0s, load: {metric: cpu, total: 1500m}}`,
		"1m:load=12,metric=queue":             `{at: 1m0s, load: {metric: queue, total: "12"}}`,
		"1m:quota=team,pods=20,cpu=4":         `{at: 1m0s, target: quota/team, patch: {spec: {hard: {cpu: "4", pods: "20"}}}}`,
	} {
		got, err := scenario.ParseStep(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var step v1alpha1.ScenarioStep
		if err := yaml.UnmarshalStrict([]byte(want), &step); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if got, want := fields(t, got), fields(t, step); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestShortFormsOfFaults(t *testing.T) {
	for text, want := range map[string]string{
		"create-pods:403@10s..40s":                             `{verb: create, resource: pods, answer: Forbidden, from: 10s, to: 40s}`,
		"update-replicasets/status:409":                        `{verb: update, resource: replicasets, subresource: status, answer: Conflict}`,
		"delete-pods:504@5s..,actor=replicaset,skip=1,times=2": `{verb: delete, resource: pods, answer: Timeout, from: 5s, actor: replicaset, skip: 1, times: 2}`,
		"create-pods:WebhookDenies,webhook=a.b,message=no":     `{verb: create, resource: pods, answer: WebhookDenies, webhook: a.b, message: "no"}`,
	} {
		got, err := scenario.ParseFault(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var fault v1alpha1.Fault
		if err := yaml.UnmarshalStrict([]byte(want), &fault); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if got, want := fields(t, got), fields(t, fault); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestScenariosThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		`pods: [{}, {never: Always}]`:                                                "spec.pods[1].never: ",
		`pods: [{readyAfter: soon}]`:                                                 "spec.pods[0].readyAfter: ",
		`steps: [{at: 1s, target: deploy/web}]`:                                      "spec.steps[0]: a step does one thing: this one has 0",
		`steps: [{at: 1s, target: node/a, node: down, replicas: 2}]`:                 "spec.steps[0]: a step does one thing: this one has 2",
		`steps: [{at: -1s, target: deploy/web, restart: true}]`:                      "time does not run backwards",
		`steps: [{at: 1s, target: deploy/web, pod: crash}]`:                          "is not a pod",
		`steps: [{at: 1s, target: pod/web, pod: sing}]`:                              `"sing" is nothing that happens to a pod`,
		`steps: [{at: 1s, target: pod/web, delete: Now}]`:                            "is not one of Background, Foreground, Orphan",
		`steps: [{at: 1s, target: pod/web, replicas: 2}]`:                            "cannot be scaled",
		`steps: [{at: 1s, target: deploy/web, replicas: -2}]`:                        "replicas: -2 is less than 0",
		`steps: [{at: 1s, target: "pod/[", pod: crash}]`:                             "is not a pattern",
		`steps: [{at: 1s, target: deploy/web, pause: true, resume: true}]`:           "exclude each other",
		`faults: [{answer: Forbidden}, {answer: Teapot}]`:                            `spec.faults[1]: "Teapot" is no kind of API error`,
		`faults: [{answer: Forbidden, resource: nuts}]`:                              `has no "nuts"`,
		`faults: [{answer: Forbidden, from: 9s, to: 3s}]`:                            "the end is not after the beginning",
		`watchDelays: [{resource: pods, until: 1s}, {resource: secrets, until: 1s}]`: `spec.watchDelays[1]: resource: the simulated server has no "secrets"`,
	} {
		var spec v1alpha1.ScenarioSpec
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := scenario.Check(&spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestHorizonIsTheLastEvent(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`:                           0,
		`steps: [{at: 3m}, {at: 1m}]`:  3 * time.Minute,
		`faults: [{from: 1s, to: 5m}]`: 5 * time.Minute,
		`watchDelays: [{until: 7m}]`:   7 * time.Minute,
		`pods: [{imageMissing: [{from: 1s, to: 8m}]}]`:        8 * time.Minute,
		`pods: [{failsProbes: [{from: 9m}, {from: 1s}]}, {}]`: 9 * time.Minute,
	} {
		var spec v1alpha1.ScenarioSpec
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := scenario.Horizon(&spec); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
