package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
)

const workload = `
metadata: {name: web, namespace: default, resourceVersion: "1"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1"}]
`

const pod = `
metadata: {name: web-1, namespace: default}
spec:
  containers: [{name: web, image: "nginx:1"}]
`

// Every script under testdata is a list of changes to a valid object and what
// is wrong with the result, one error a line. The input is merged into the
// object: maps key by key, lists as a whole, null removes.
//
//	deployment, replicaset, pod   create; the input is merged into the object
//	template                      create a Deployment; the input is merged into its pod spec
//	container, init               create a Deployment; the input is merged into a container of its template
//	update [of=KIND]              replace the valid object by the changed one
//	status [of=KIND]              write the changed status; lines before --- are the old one's
//
// version=N imitates v1.N. The outputs were compared with upstream's own validation.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return lines(run(t, d))
		})
	})
}

func run(t *testing.T, d *datadriven.TestData) field.ErrorList {
	version, of := int(rollout.LatestVersion), "deployment"
	d.MaybeScanArgs(t, "version", &version)
	d.MaybeScanArgs(t, "of", &of)
	v := rollout.Version(version)
	switch d.Cmd {
	case "deployment":
		return validate.Deployment(deployment(t, d.Input), v)
	case "template":
		return validate.Deployment(deployment(t, nest(d.Input, "spec", "template", "spec")), v)
	case "container":
		return validate.Deployment(deployment(t, containers(t, "containers", `{name: web, image: "nginx:1"}`, d.Input)), v)
	case "init":
		return validate.Deployment(deployment(t, containers(t, "initContainers", `{name: first, image: "nginx:1"}`, d.Input)), v)
	case "replicaset":
		return validate.ReplicaSet(replicaSet(t, d.Input), v)
	case "pod":
		p := &corev1.Pod{}
		decode(t, pod, d.Input, p)
		defaults.Pod(p)
		return validate.Pod(p, v)
	case "update":
		if of == "pod" {
			return podUpdate(t, d.Input)
		}
		if of == "replicaset" {
			return validate.ReplicaSetUpdate(replicaSet(t, d.Input), replicaSet(t, ""), v)
		}
		old, new, found := strings.Cut(d.Input, "---\n")
		if !found {
			old, new = "", d.Input
		}
		return validate.DeploymentUpdate(deployment(t, new), deployment(t, old), v)
	case "status":
		old, new, _ := strings.Cut(d.Input, "---\n")
		if of == "replicaset" {
			return validate.ReplicaSetStatusUpdate(replicaSet(t, nest(new, "status")), replicaSet(t, nest(old, "status")))
		}
		return validate.DeploymentStatusUpdate(deployment(t, nest(new, "status")), deployment(t, nest(old, "status")))
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return nil
}

// podUpdate replaces the pod before the separator by the one behind it.
func podUpdate(t *testing.T, input string) field.ErrorList {
	before, after, _ := strings.Cut(input, "---\n")
	old, new := &corev1.Pod{}, &corev1.Pod{}
	decode(t, pod, before, old)
	decode(t, pod, after, new)
	defaults.Pod(old)
	defaults.Pod(new)
	new.ResourceVersion = "7"
	return validate.PodUpdate(new, old)
}

func lines(errs field.ErrorList) string {
	if len(errs) == 0 {
		return "ok\n"
	}
	var b strings.Builder
	for _, err := range errs {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

func deployment(t *testing.T, change string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	decode(t, workload, change, d)
	defaults.Deployment(d)
	return d
}

func replicaSet(t *testing.T, change string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{}
	decode(t, workload, change, rs)
	defaults.ReplicaSet(rs)
	return rs
}

func decode(t *testing.T, base, change string, into any) {
	t.Helper()
	merged, err := yaml.Marshal(merge(parse(t, base), parse(t, change)))
	if err == nil {
		err = yaml.UnmarshalStrict(merged, into)
	}
	if err != nil {
		t.Fatalf("decoding %s: %v", change, err)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("parsing %s: %v", text, err)
	}
	return out
}

func merge(base, change map[string]any) map[string]any {
	for key, value := range change {
		deeper, isMap := value.(map[string]any)
		was, wasMap := base[key].(map[string]any)
		switch {
		case value == nil:
			delete(base, key)
		case isMap && wasMap:
			base[key] = merge(was, deeper)
		default:
			base[key] = value
		}
	}
	return base
}

// nest puts YAML under a path of keys.
func nest(text string, keys ...string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	for i := len(keys) - 1; i >= 0; i-- {
		text = keys[i] + ":\n  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
	}
	return text
}

// containers is a change that makes a list of the one container changed.
func containers(t *testing.T, list, base, change string) string {
	t.Helper()
	merged := merge(parse(t, base), parse(t, change))
	volumes := merged["volumes"] // not a container's, but handy to give along
	delete(merged, "volumes")
	spec := map[string]any{list: []any{merged}}
	if volumes != nil {
		spec["volumes"] = volumes
	}
	text, err := yaml.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": spec}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
