package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// PatchType is kubectl patch --type.
type PatchType string

// The patch types; the empty one is strategic.
const (
	Strategic PatchType = "strategic"
	Merge     PatchType = "merge"
	JSON      PatchType = "json"
)

// ParsePatchType reads one of the words.
func ParsePatchType(s string) (PatchType, error) {
	if t := PatchType(s); slices.Contains([]PatchType{Strategic, Merge, JSON}, t) {
		return t, nil
	}
	return "", fmt.Errorf("--patch-type must be one of [json merge strategic], not %q", s)
}

// patch is kubectl patch. Unknown fields are dropped with a warning, as the API
// server does for patches.
func (s *Set) patch(out *Result, in Input) error {
	patch, err := yaml.YAMLToJSON(s.Patch)
	if err != nil {
		return fmt.Errorf("unable to parse the patch: %w", err)
	}
	before, err := json.Marshal(out.Object)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", manifest.Name(out.Object), err)
	}
	after, err := s.merged(before, patch, out.Object)
	if err != nil {
		return fmt.Errorf("the patch cannot be applied: %w", err)
	}
	return out.decode(after, in.Object)
}

func (s *Set) merged(before, patch []byte, like manifest.Object) ([]byte, error) {
	switch s.PatchType {
	case Merge:
		return jsonpatch.MergePatch(before, patch)
	case JSON:
		operations, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, err
		}
		return operations.Apply(before)
	}
	if !strings.HasPrefix(strings.TrimSpace(string(patch)), "{") {
		return nil, errors.New("a strategic merge patch is an object; for a list of operations pass --patch-type=json")
	}
	return strategicpatch.StrategicMergePatch(before, patch, like)
}

func (out *Result) decode(data []byte, was manifest.Object) error {
	obj := fresh(was)
	unknown, err := kjson.UnmarshalStrict(data, obj)
	if err != nil {
		return fmt.Errorf("the patched object is not a %s: %w", was.GetObjectKind().GroupVersionKind().Kind, err)
	}
	for _, field := range unknown {
		out.Warnings = append(out.Warnings, field.Error())
	}
	if obj.GetName() != was.GetName() || obj.GetNamespace() != was.GetNamespace() {
		return errors.New("a patch cannot change an object's name or namespace")
	}
	obj.GetObjectKind().SetGroupVersionKind(was.GetObjectKind().GroupVersionKind())
	out.Object = obj
	return nil
}
