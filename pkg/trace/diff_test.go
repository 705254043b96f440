package trace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) any {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDiff(t *testing.T) {
	tests := map[string]struct {
		before, after string
		want          []Field
	}{
		"an image": {
			"spec: {template: {spec: {containers: [{name: log, image: l}, {name: app, image: 'nginx:1.25'}]}}}",
			"spec: {template: {spec: {containers: [{name: app, image: 'nginx:1.26'}, {name: log, image: l}]}}}",
			[]Field{{"spec.template.spec.containers[0].image", "spec.template.spec.containers[app].image", "nginx:1.25", "nginx:1.26"}},
		},
		"what the server fills in": {
			"{metadata: {generation: 1, resourceVersion: '1', annotations: {deployment.kubernetes.io/revision: '1'}}, status: {replicas: 1}}",
			"{metadata: {generation: 2, resourceVersion: '2', annotations: {}}, status: {replicas: 2}}",
			nil,
		},
		"numbers, booleans and nothing": {
			"spec: {replicas: 3}", "spec: {replicas: 5, paused: true}",
			[]Field{{Path: "spec.paused", To: "true"}, {Path: "spec.replicas", From: "3", To: "5"}},
		},
		"keys with dots and slashes, in a map that was not there": {
			"metadata: {name: a}", "metadata: {name: a, annotations: {example.com/x: 'y'}}",
			[]Field{{Path: `metadata.annotations["example.com/x"]`, To: "y"}},
		},
		"an item added and one removed": {
			"spec: {containers: [{name: a}]}", "spec: {containers: [{name: b}]}",
			[]Field{{"spec.containers[0]", "spec.containers[b]", "", `{"name":"b"}`}, {"spec.containers[0]", "spec.containers[a]", `{"name":"a"}`, ""}},
		},
		"a list without names": {
			"spec: {args: [a, b]}", "spec: {args: [a]}",
			[]Field{{Path: "spec.args[1]", From: "b"}},
		},
		"a structure that comes": {
			"spec: {}", "spec: {strategy: {rollingUpdate: {maxSurge: 1}}}",
			[]Field{{Path: "spec.strategy", To: `{"rollingUpdate":{"maxSurge":1}}`}},
		},
		"empty against absent": {"spec: {a: {}}", "spec: {}", nil},
		"a long value": {
			"spec: {a: ''}", "spec: {a: " + strings.Repeat("é", 200) + "}",
			[]Field{{Path: "spec.a", To: strings.Repeat("é", 160) + "… (200 characters)"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Diff(object(t, test.before), object(t, test.after))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := Diff(nil, object(t, "a: 1")); got != nil {
		t.Errorf("against nothing: %v", got)
	}
	if got := Diff(func() {}, 1); got != nil {
		t.Errorf("of what is not JSON: %v", got)
	}
}
