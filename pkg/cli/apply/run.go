package apply

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// job is one change on its way from the plan to its end.
type job struct {
	*Options
	plan *predict.Prediction
	docs []kubectl.Document
	show predict.Show
	// people says that it is shown to people rather than to programs.
	people bool
	typed  <-chan string // what a person types, once it is read
}

// Run shows the plan, asks, makes the change and follows it.
func Run(ctx context.Context, o *Options) error {
	j := &job{Options: o, people: o.Format == "" || o.Format == "wide"}
	if err := j.prepare(ctx); err != nil {
		return err
	}
	// What is asked about can be looked at; the real rollout takes its place.
	if err := j.Pictures.Write(j.plan.Plan); err != nil {
		return err
	}
	if j.people {
		if err := j.show(o.Out, j.plan.Plan); err != nil {
			return fmt.Errorf("printing the plan: %w", err)
		}
	}
	if err := predict.CheckFailOn(o.FailOn, j.plan.Plan.Status); err != nil {
		return err
	}
	if o.DryRun != kubectl.DryRunNone {
		return j.rehearse(ctx)
	}
	if !o.Yes {
		if err := j.ask(ctx); err != nil {
			return err
		}
	}
	return j.perform(ctx)
}

// prepare makes the plan, or takes the saved one if it still holds.
func (j *job) prepare(ctx context.Context) error {
	var err error
	if j.show, err = j.Printer(j.Out); err != nil {
		return err
	}
	command.Quiet()
	j.Keep = true
	if j.docs, err = j.Documents(); err != nil {
		return err
	}
	if j.plan, err = predict.Make(ctx, &j.Options.Options); err != nil {
		return err
	}
	if j.plan.Refused != nil && j.DryRun != kubectl.DryRunClient {
		return j.plan.Refused
	}
	predict.Warn(j.ErrOut, j.plan.Warnings)
	if j.saved == nil {
		return nil
	}
	if err := checkBases(j.saved.Spec.Request.Bases, j.plan.Bases); err != nil {
		return err
	}
	saved := *j.saved
	saved.Spec.Request = nil
	j.plan.Plan = &saved
	return nil
}

// rehearse is a dry run: what kubectl would print.
func (j *job) rehearse(ctx context.Context) error {
	said, err := j.change(ctx, j.DryRun)
	if err != nil {
		return err
	}
	if !j.people {
		return j.show(j.Out, j.plan.Plan)
	}
	return j.print(said)
}

// print writes what kubectl says, which may hold names of anybody's choice.
func (j *job) print(said string) error {
	for line := range strings.Lines(said) {
		if _, err := fmt.Fprintln(j.Out, manifest.Printable(strings.TrimRight(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// ask is answered by yes or by anything else. It goes to standard error, so
// that a program may read the rest.
func (j *job) ask(ctx context.Context) error {
	where := ""
	if name := j.Cluster.Context; name != "" {
		where = fmt.Sprintf(" in %q", manifest.Printable(name))
	}
	fmt.Fprintf(j.ErrOut, "\nMake this change%s? [y/N] ", where)
	select {
	case answer := <-j.lines():
		if a := strings.ToLower(strings.TrimSpace(answer)); a == "y" || a == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(j.ErrOut)
	}
	return &exit.Error{Code: exit.Failure, Message: "not confirmed: nothing was changed"}
}

// lines are what a person types, from when it is first asked for; it is closed
// at the end of input.
func (j *job) lines() <-chan string {
	if j.typed != nil {
		return j.typed
	}
	out := make(chan string)
	j.typed = out
	go func() {
		defer close(out)
		for read := bufio.NewReader(j.keys); ; {
			text, err := read.ReadString('\n')
			if err != nil {
				return
			}
			out <- text
		}
	}()
	return out
}

// change makes the change, or its dry run, and returns what kubectl says.
func (j *job) change(ctx context.Context, dry kubectl.DryRun) (string, error) {
	k := j.kubectl(dry)
	if j.HasManifests() {
		made, err := k.Apply(kubectl.Manifests{
			Documents: j.docs, Namespace: j.Namespace, Explicit: j.ExplicitNamespace,
			Options: j.Options.Apply, Selector: j.Selector, Workloads: j.plan.Targets,
		})
		return made.Said, err
	}
	var all strings.Builder
	for _, target := range j.plan.Targets {
		made, err := k.Change(ctx, j.Change, target)
		if err != nil {
			return all.String(), err
		}
		all.WriteString(made.Said)
	}
	return all.String(), nil
}

// warn warns of what the plan has not warned of before.
func (j *job) warn(text string) {
	if !slices.Contains(j.plan.Warnings, text) {
		j.plan.Warnings = append(j.plan.Warnings, text)
		predict.Warn(j.ErrOut, []string{text})
	}
}

func (j *job) kubectl(dry kubectl.DryRun) *kubectl.Kubectl {
	return &kubectl.Kubectl{Getter: j.Getter, DryRun: dry, Warn: j.warn}
}
