package defaults_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

// Every script under testdata is a list of objects and what the API server
// makes of them: one field a line, + for what is new and ~ for what is changed
// (- for what is dropped). Fields of a template are shown from its spec on.
//
//	deployment, replicaset, pod   the input is the spec
//	template                      the input is the pod spec of a Deployment's template
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "deployment":
				obj := &appsv1.Deployment{}
				decode(t, d.Input, &obj.Spec)
				return changes(t, obj.DeepCopy(), obj, defaults.Deployment, "spec.")
			case "replicaset":
				obj := &appsv1.ReplicaSet{}
				decode(t, d.Input, &obj.Spec)
				return changes(t, obj.DeepCopy(), obj, defaults.ReplicaSet, "spec.")
			case "template":
				obj := &appsv1.Deployment{}
				decode(t, d.Input, &obj.Spec.Template.Spec)
				return changes(t, obj.DeepCopy(), obj, defaults.Deployment, "spec.template.spec.")
			case "pod":
				obj := &corev1.Pod{}
				decode(t, d.Input, &obj.Spec)
				return changes(t, obj.DeepCopy(), obj, defaults.Pod, "spec.")
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func decode(t *testing.T, text string, into any) {
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
}

func changes[T any](t *testing.T, before, after T, fillIn func(T), prefix string) string {
	fillIn(after)
	old, now := flat(t, before), flat(t, after)
	var out []string
	for path, value := range now {
		switch was, ok := old[path]; {
		case !ok:
			out = append(out, fmt.Sprintf("%s + %s", path, value))
		case was != value:
			out = append(out, fmt.Sprintf("%s ~ %s", path, value))
		}
	}
	for path, value := range old {
		if _, ok := now[path]; !ok && !replaced(now, path) {
			out = append(out, fmt.Sprintf("%s - %s", path, value))
		}
	}
	out = slices.DeleteFunc(out, func(line string) bool { return !strings.HasPrefix(line, prefix) })
	sort.Strings(out)
	if len(out) == 0 {
		return "nothing\n"
	}
	return strings.ReplaceAll("\n"+strings.Join(out, "\n"), "\n"+prefix, "\n")[1:] + "\n"
}

// replaced: an empty structure got fields.
func replaced(now map[string]string, path string) bool {
	for other := range now {
		if strings.HasPrefix(other, path+".") {
			return true
		}
	}
	return false
}

// flat maps the path of every leaf of an object's JSON to its value.
func flat(t *testing.T, obj any) map[string]string {
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	leaves := map[string]string{}
	walk(tree, "", leaves)
	return leaves
}

func walk(node any, path string, leaves map[string]string) {
	switch value := node.(type) {
	case map[string]any:
		for key, child := range value {
			walk(child, strings.TrimPrefix(path+"."+key, "."), leaves)
		}
		if len(value) > 0 {
			return
		}
	case []any:
		for i, child := range value {
			walk(child, fmt.Sprintf("%s[%d]", path, i), leaves)
		}
		if len(value) > 0 {
			return
		}
	}
	text, _ := json.Marshal(node)
	leaves[path] = string(text)
}

func TestPullPolicyFollowsTheTag(t *testing.T) {
	sha := "@sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                      corev1.PullAlways,
		"nginx:latest":               corev1.PullAlways,
		"nginx:1.27":                 corev1.PullIfNotPresent,
		"registry.example:5000/a/b":  corev1.PullAlways,
		"registry.example:5000/a:v1": corev1.PullIfNotPresent,
		"localhost/a":                corev1.PullAlways,
		"[::1]:5000/a":               corev1.PullAlways,
		"index.docker.io/a":          corev1.PullAlways,
		"nginx" + sha:                corev1.PullIfNotPresent, // only a digest
		"nginx:latest" + sha:         corev1.PullAlways,       // the tag counts although the digest decides what runs
		"nginx:latest@sha256:abc":    corev1.PullIfNotPresent, // no digest, so no reference
		"a_b.c/d":                    corev1.PullAlways,       // no host, but a path
		"Nginx":                      corev1.PullIfNotPresent, // upper case: no reference
		" nginx":                     corev1.PullIfNotPresent,
		"":                           corev1.PullIfNotPresent,
		strings.Repeat("a", 64):      corev1.PullIfNotPresent, // an image id
		strings.Repeat("a/", 128):    corev1.PullIfNotPresent, // ends in a slash
		strings.Repeat("z", 248):     corev1.PullIfNotPresent, // too long with library/ in front
		strings.Repeat("z", 247):     corev1.PullAlways,
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
		defaults.Pod(p)
		if got := p.Spec.Containers[0].ImagePullPolicy; got != want {
			t.Errorf("%q: got %s, want %s", image, got, want)
		}
	}
}

func TestQOSClass(t *testing.T) {
	for _, test := range []struct {
		spec string
		want corev1.PodQOSClass
	}{
		{`containers: [{name: a}]`, corev1.PodQOSBestEffort},
		{`containers: []`, corev1.PodQOSBestEffort},
		{`containers: [{name: a, resources: {requests: {cpu: 0}}}]`, corev1.PodQOSBestEffort},
		{`containers: [{name: a, resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}}]`, corev1.PodQOSBestEffort},
		{`containers: [{name: a, resources: {requests: {cpu: 1}}}]`, corev1.PodQOSBurstable},
		{`containers: [{name: a, resources: {limits: {cpu: 1}}}]`, corev1.PodQOSBurstable},
		{`containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]`, corev1.PodQOSGuaranteed},
		{`containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}, {name: b}]`, corev1.PodQOSBurstable},
		{`{initContainers: [{name: i}], containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}`, corev1.PodQOSBurstable},
		{`containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}]`, corev1.PodQOSBurstable},
		{`{resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}, containers: [{name: a}]}`, corev1.PodQOSGuaranteed},
	} {
		p := &corev1.Pod{}
		decode(t, test.spec, &p.Spec)
		defaults.Pod(p)
		if got := defaults.QOSClass(p); got != test.want {
			t.Errorf("%s: got %s, want %s", test.spec, got, test.want)
		}
	}
}

// The two addresses of a status are kept alike; the singular one wins.
func TestPodIPs(t *testing.T) {
	for _, test := range []struct{ ip, first, want string }{
		{"", "", ""},
		{"10.0.0.1", "", "10.0.0.1"},
		{"", "10.0.0.2", "10.0.0.2"},
		{"10.0.0.1", "10.0.0.2", "10.0.0.1"},
	} {
		p := &corev1.Pod{Status: corev1.PodStatus{PodIP: test.ip}}
		if test.first != "" {
			p.Status.PodIPs = []corev1.PodIP{{IP: test.first}}
		}
		defaults.Pod(p)
		plural := ""
		if len(p.Status.PodIPs) > 0 {
			plural = p.Status.PodIPs[0].IP
		}
		if p.Status.PodIP != test.want || plural != test.want {
			t.Errorf("%+v: got %q and %q", test, p.Status.PodIP, plural)
		}
	}
}

// Annotations of old init containers disappear from the template.
func TestOldAnnotationsAreDropped(t *testing.T) {
	d := &appsv1.Deployment{}
	d.Spec.Template.Annotations = map[string]string{"pod.beta.kubernetes.io/init-containers": "[]", "kept": "yes"}
	defaults.Deployment(d)
	if got := d.Spec.Template.Annotations; len(got) != 1 || got["kept"] != "yes" {
		t.Errorf("got %v", got)
	}
}
