package scenario

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

const schemaFile = "../../docs/scenario.schema.json"

// TestSchemaIsInStep makes the JSON schema of Scenario from its Go types and
// compares it with the one that is published; -rewrite publishes it anew.
func TestSchemaIsInStep(t *testing.T) {
	s := &schemas{comments: comments(t), defs: map[string]any{}}
	spec := s.of(reflect.TypeFor[v1alpha1.ScenarioSpec](), "")
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Scenario", "description": s.comments["Scenario"],
		"type": "object", "required": []string{"apiVersion", "kind", "metadata", "spec"}, "additionalProperties": false,
		"properties": map[string]any{
			"apiVersion": map[string]any{"const": v1alpha1.PlanAPIVersion}, "kind": map[string]any{"const": "Scenario"},
			"metadata": map[string]any{"type": "object", "required": []string{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string"}}},
			"spec":     spec,
		},
		"$defs": s.defs,
	}
	want, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is behind the types: go test ./pkg/scenario -run Schema -args -rewrite\n%s", schemaFile, diff)
	}
}

// words are the fields that take one of a few words, with the lists that the code itself reads.
var words = map[string][]string{
	"ScenarioStep.node":   sortedKeys(nodeDeeds),
	"ScenarioStep.pod":    podDeeds,
	"ScenarioStep.delete": policies,
	"PodBehaviour.never":  {string(kubelet.Unready), string(kubelet.ImagePull), string(kubelet.CrashLoop), string(kubelet.WhileOthers)},
	"ProbeFailure.probes": {string(kubelet.Startup), string(kubelet.Readiness), string(kubelet.Liveness)},
	"Fault.verb":          verbs,
	"Fault.resource":      resources,
	"WatchDelay.resource": resources,
	"Fault.failurePolicy": {"Fail", "Ignore"},
}

// schemas are those of types, made as they are met.
type schemas struct {
	comments map[string]string // by TYPE and TYPE.Field
	defs     map[string]any
}

// of is the schema of a type; enum are the words it is one of.
func (s *schemas) of(t reflect.Type, name string) map[string]any {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return map[string]any{"type": "string", "pattern": `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`}
	case reflect.TypeFor[resource.Quantity]():
		return map[string]any{"type": []string{"string", "number"}}
	case reflect.TypeFor[runtime.RawExtension]():
		return map[string]any{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), name)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem(), name)}
	case reflect.Map:
		value := s.of(t.Elem(), "")
		if t.Elem().Kind() == reflect.Pointer {
			value["type"] = []string{"string", "null"}
		}
		return map[string]any{"type": "object", "additionalProperties": value}
	case reflect.Struct:
		return s.structure(t)
	case reflect.String:
		out := map[string]any{"type": "string"}
		if list := words[name]; list != nil {
			out["enum"] = list
		}
		return out
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "integer"}
}

// structure is a reference to the schema of a struct, which is made the first time.
func (s *schemas) structure(t reflect.Type) map[string]any {
	if _, known := s.defs[t.Name()]; !known {
		def := map[string]any{"type": "object", "additionalProperties": false}
		s.defs[t.Name()] = def
		properties, required := map[string]any{}, []string{}
		s.fields(t, properties, &required)
		def["properties"] = properties
		if len(required) > 0 {
			def["required"] = required
		}
		if text := s.comments[t.Name()]; text != "" {
			def["description"] = text
		}
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

func (s *schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") {
			s.fields(f.Type, properties, required)
			continue
		}
		schema := s.of(f.Type, t.Name()+"."+name)
		if text := s.comments[t.Name()+"."+f.Name]; text != "" {
			schema["description"] = text
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

// comments are those of the types and fields of the package that defines Scenario.
func comments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../apis/v1alpha1/scenario.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			spec := spec.(*ast.TypeSpec)
			out[spec.Name.Name] = oneLine(d.Doc)
			structure, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range structure.Fields.List {
				text := oneLine(f.Doc)
				if text == "" {
					text = oneLine(f.Comment)
				}
				for _, name := range f.Names {
					out[spec.Name.Name+"."+name.Name] = text
				}
			}
		}
	}
	return out
}

func oneLine(group *ast.CommentGroup) string { return strings.Join(strings.Fields(group.Text()), " ") }

// TestSchemaKnowsEveryField holds the published schema against a Scenario that uses words of each kind.
func TestSchemaKnowsEveryField(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum []string `json:"enum"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for def, field := range map[string]string{"ScenarioSpec": "steps", "ScenarioStep": "at", "PodBehaviour": "match", "Fault": "answer", "ProbeFailure": "from", "Load": "metric"} {
		if _, ok := schema.Defs[def].Properties[field]; !ok {
			t.Errorf("%s has no %s", def, field)
		}
	}
	if !slices.Contains(schema.Defs["ScenarioStep"].Properties["node"].Enum, "drain") {
		t.Error("a node cannot be drained")
	}
}
