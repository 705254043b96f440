package apply

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// readPlan makes the flags of this command those of a saved plan, and returns
// its arguments.
func (o *Options) readPlan(cmd *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 || len(o.Files) > 0 || o.Kustomize != "" || o.Offline || len(o.From) > 0 || len(o.State) > 0 {
		return nil, errors.New("--plan says what is changed: pass no manifest and no TYPE/NAME with it")
	}
	data, err := os.ReadFile(o.planFile)
	if err != nil {
		return nil, err
	}
	if o.saved, err = v1alpha1.DecodePlan(data); err != nil {
		return nil, fmt.Errorf("%s: %w", o.planFile, err)
	}
	r := o.saved.Spec.Request
	if r == nil || len(r.Bases) == 0 {
		return nil, fmt.Errorf("%s: this plan does not hold the change: save it with plan --save", o.planFile)
	}
	if err := cmd.Flags().Parse(r.Verbs); err != nil {
		return nil, fmt.Errorf("%s: %w", o.planFile, err)
	}
	o.Apply.ServerSide, o.Apply.FieldManager, o.Apply.ForceConflicts = r.ServerSide, r.FieldManager, r.ForceConflicts
	if len(r.Manifests) > 0 {
		var text bytes.Buffer
		for _, doc := range r.Manifests {
			text.Write(doc)
			text.WriteString("\n---\n")
		}
		o.In, o.Files = &text, []string{"-"}
	}
	var targets []string
	for _, base := range r.Bases {
		targets = append(targets, strings.ToLower(base.Object.Kind)+"/"+base.Object.Name)
	}
	return targets, nil
}

// checkBases is an error when a workload is no longer what a saved plan was
// made from.
func checkBases(saved, now []v1alpha1.Base) error {
	for _, was := range saved {
		var is v1alpha1.Base
		for _, b := range now {
			if b.Object == was.Object {
				is = b
			}
		}
		name := strings.ToLower(was.Object.Kind) + "/" + was.Object.Name
		what := ""
		switch {
		case was.UID == "" && is.UID != "":
			what = "has been created"
		case is.UID == "" && was.UID != "":
			what = "has been deleted"
		case is.UID != was.UID:
			what = "has been deleted and created anew"
		case is.Generation != was.Generation:
			what = fmt.Sprintf("has been changed (generation %d, now %d)", was.Generation, is.Generation)
		case is.ResourceVersion != was.ResourceVersion:
			what = fmt.Sprintf("has got other labels, annotations or another status (resourceVersion %s, now %s)", was.ResourceVersion, is.ResourceVersion)
		default:
			continue
		}
		return fmt.Errorf("%s %s since the plan was made: make a new one", name, what)
	}
	return nil
}
