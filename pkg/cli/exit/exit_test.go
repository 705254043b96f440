package exit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

func TestPrint(t *testing.T) {
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	negative := field.Invalid(field.NewPath("spec", "replicas"), -1, "must be greater than or equal to 0")
	required := field.Required(field.NewPath("spec", "selector"), "")
	at := func(err error) error {
		return &At{manifest.Source{File: "a\x1b.yaml", Document: 2, Line: 7}, err}
	}
	for name, test := range map[string]struct {
		err  error
		want string
		code Code
	}{
		"none":            {nil, "", Done},
		"plain":           {errors.New("no manifest"), "error: no manifest\n", Failure},
		"said already":    {errors.New("error: no manifest"), "error: no manifest\n", Failure},
		"forged line":     {errors.New("a\nerror: b\x1b[2J"), `error: a\nerror: b\x1b[2J` + "\n", Failure},
		"a cluster's own": {fmt.Errorf("%w", verbatim("Error from server (X): a\n* b\x1b")), "Error from server (X): a\n* b\\x1b\n", Failure},
		"code alone":      {&Error{Code: Changes}, "", Changes},
		"code and words":  {fmt.Errorf("%w", &Error{Code: Condition, Message: "--fail-on stuck"}), "error: --fail-on stuck\n", Condition},
		"one cause": {apierrors.NewInvalid(kind, "web", field.ErrorList{negative}),
			"error: The Deployment \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0\n", Failure},
		"causes, each once, with the file": {at(apierrors.NewInvalid(kind, "web", field.ErrorList{negative, required, negative})),
			`error: a\x1b.yaml: document 2, line 7: The Deployment "web" is invalid:` + "\n" +
				"* spec.replicas: Invalid value: -1: must be greater than or equal to 0\n* spec.selector: Required value\n", Failure},
		"other status": {at(apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web")),
			`error: a\x1b.yaml: document 2, line 7: deployments.apps "web" not found` + "\n", Failure},
	} {
		var out strings.Builder
		Print(&out, test.err)
		if out.String() != test.want {
			t.Errorf("%s:\n%q, want\n%q", name, out.String(), test.want)
		}
		if got := CodeOf(test.err); got != test.code {
			t.Errorf("%s: code %d, want %d", name, got, test.code)
		}
	}
}

// verbatim is an error in the words of another program.
type verbatim string

func (v verbatim) Error() string { return string(v) }
func (v verbatim) Verbatim()     {}
