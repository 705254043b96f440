package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

const projectRoot = "../../.."

// manifest is one object found in the project.
type manifest struct {
	from string // where it was found
	json []byte
}

// TestManifests creates every Deployment, ReplicaSet and Pod of the project's
// examples and test data on both servers, as a dry run on the real one, and
// compares what they store, or why they refuse it.
func TestManifests(t *testing.T) {
	if rewriting() {
		t.Skip("answers to scripts are being recorded")
	}
	found := slices.Concat(written(t), scripted(t))
	if len(found) < 150 {
		t.Fatalf("only %d manifests found", len(found))
	}
	cfg, err := cluster.ForTest(t, cluster.Options{}).Config("")
	if err != nil {
		t.Fatal(err)
	}
	real, err := newRealServer(t.Context(), cfg, "manifests")
	if err != nil {
		t.Fatal(err)
	}
	defer real.close()
	stored := 0
	for _, m := range found {
		obj, err := decode(m.json)
		if err != nil {
			continue // no server of any kind could read it
		}
		obj.SetNamespace("")
		obj.SetResourceVersion("") // dumps carry them
		want, ok := outcome(real.dryRun, obj)
		got, _ := outcome(newSimServer(t.Context(), "manifests").create, obj)
		if ok {
			stored++
		}
		if d := cmp.Diff(want, got); d != "" && sorted(want) != sorted(got) {
			t.Errorf("%s: real -, simulated +\n%s\n%s", m.from, m.json, d)
		}
	}
	t.Logf("%d manifests, %d of them valid", len(found), stored)
}

func (s *realServer) dryRun(obj sim.Object) (sim.Object, error) {
	resource := resourceOf(obj)
	return s.do(s.clients[resource].Post().Namespace(s.namespace).Resource(resource).Param("dryRun", "All").Body(obj))
}

// outcome is the object that a server would store, or its refusal.
func outcome(create func(sim.Object) (sim.Object, error), obj sim.Object) (text string, stored bool) {
	out, err := create(obj)
	if err != nil {
		return madeName(obj, causes(err)), false
	}
	out = out.DeepCopyObject().(sim.Object)
	out.SetUID("")
	return madeName(obj, plain(out)), true
}

// causes is a refusal with each of its reasons on a line.
func causes(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) < 2 {
		return answer(err)
	}
	s := status.Status()
	out := fmt.Sprintf("%d %s %s %s", s.Code, s.Reason, s.Details.Kind, s.Details.Name)
	for _, c := range s.Details.Causes {
		out += fmt.Sprintf("\n%s: %s %s", c.Field, c.Type, c.Message)
	}
	return out
}

// sorted is a text with its lines in order: a real server goes through maps,
// and says what is wrong with their items in an order of the moment.
func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(text, "\n")), "\n")
}

func madeName(obj sim.Object, text string) string {
	n := newNames()
	if base := obj.GetGenerateName(); base != "" {
		n.bases = []string{base}
	}
	return n.hide(text)
}

// written are the manifests that stand in files as they are, alone or among other text.
func written(t *testing.T) []manifest {
	var out []manifest
	err := filepath.WalkDir(projectRoot, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && strings.HasPrefix(e.Name(), ".git") {
				return filepath.SkipDir
			}
			return err
		}
		inside := strings.Contains(path, "/testdata/") || strings.Contains(path, "/examples/")
		if !inside || !slices.Contains([]string{".yaml", ".txt", ".txtar"}, filepath.Ext(path)) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out = append(out, documents(path, string(data))...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	separator = regexp.MustCompile(`(?m)^(---.*|\.\.\.|-- .* --)$`)
	beginning = regexp.MustCompile(`(?m)^(apiVersion:|kind:|\{"apiVersion")`)
)

// documents are the YAML documents of a text that begin as a manifest does.
func documents(path, text string) []manifest {
	var out []manifest
	for _, piece := range separator.Split(text, -1) {
		at := beginning.FindStringIndex(piece)
		if at == nil {
			continue
		}
		var fields map[string]any
		if yaml.Unmarshal([]byte(piece[at[0]:]), &fields) == nil {
			out = append(out, workloads(path, fields)...)
		}
	}
	return out
}

// workloads are the kinds we store among a document's objects.
func workloads(path string, fields map[string]any) []manifest {
	if items, ok := fields["items"].([]any); ok {
		var out []manifest
		for _, item := range items {
			if fields, ok := item.(map[string]any); ok {
				out = append(out, workloads(path, fields)...)
			}
		}
		return out
	}
	switch fmt.Sprint(fields["apiVersion"], " ", fields["kind"]) {
	case "apps/v1 Deployment", "apps/v1 ReplicaSet", "v1 Pod":
		data, err := json.Marshal(fields)
		if err != nil {
			return nil
		}
		return []manifest{{path, data}}
	}
	return nil
}

// scripted are the objects that the scripts about defaults and validation make
// by changing parts of a valid one.
func scripted(t *testing.T) []manifest {
	var out []manifest
	for _, dir := range []string{"pkg/sim/defaults/testdata", "pkg/sim/validate/testdata"} {
		whole := strings.Contains(dir, "validate")
		datadriven.Walk(t, filepath.Join(projectRoot, dir), func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				if len(d.CmdArgs) == 0 {
					if m, ok := scriptedManifest(t, d, whole); ok {
						out = append(out, manifest{d.Pos, m})
					}
				}
				return d.Expected
			})
		})
	}
	return out
}

// scriptedManifest makes the object of one command; whole says that the input
// of deployment, replicaset and pod is all of it, not the spec alone.
func scriptedManifest(t *testing.T, d *datadriven.TestData, whole bool) ([]byte, bool) {
	var change map[string]any
	if err := yaml.Unmarshal([]byte(d.Input), &change); err != nil {
		t.Fatal(err)
	}
	base := sim.Deployments
	switch d.Cmd {
	case "template":
		change = nested(change, "spec", "template", "spec")
	case "container":
		change = inContainer(change, "containers", map[string]any{"name": "web", "image": "nginx:1"})
	case "init":
		change = inContainer(change, "initContainers", map[string]any{"name": "first", "image": "nginx:1"})
	case "deployment", "replicaset", "pod":
		base = d.Cmd + "s"
		if !whole {
			change = nested(change, "spec")
		}
	default:
		return nil, false
	}
	data, err := yaml.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	out, err := mergedJSON([]byte(smallest[base]), string(data))
	if err != nil {
		t.Fatal(err)
	}
	return out, true
}

func nested(fields map[string]any, keys ...string) map[string]any {
	for _, key := range slices.Backward(keys) {
		fields = map[string]any{key: fields}
	}
	return fields
}

// inContainer changes a container of a template; volumes given along are the pod's.
func inContainer(change map[string]any, list string, container map[string]any) map[string]any {
	spec := map[string]any{}
	for key, value := range change {
		switch {
		case key == "volumes":
			spec[key] = value
		case value == nil:
			delete(container, key)
		default:
			container[key] = value
		}
	}
	spec[list] = []any{container}
	return nested(spec, "spec", "template", "spec")
}
