// Package exit holds the exit codes of all commands and how errors are printed.
package exit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// Code is the exit code of the process.
type Code int

// The exit codes; scripts rely on them.
const (
	Done      Code = 0 // as predicted, or done
	Failure   Code = 1 // an error of input, cluster or tool
	Changes   Code = 2 // with --detailed-exitcode: there are changes
	Condition Code = 3 // a --fail-on condition is met, or no strategy meets --goal
	Failed    Code = 4 // a real rollout failed
	Diverged  Code = 5 // with --fail-on-divergence: a real rollout left its plan
)

// Help lists the codes for the help text.
const Help = `Exit codes:
  0  as predicted, or done
  1  an error of input, cluster or tool
  2  with --detailed-exitcode: there are changes
  3  a --fail-on condition is met, or no strategy meets --goal
  4  a real rollout failed
  5  with --fail-on-divergence: a real rollout left its plan`

// Error ends the process with a code other than Failure.
type Error struct {
	Code    Code
	Message string // printed as an error when not empty
}

func (e *Error) Error() string { return e.Message }

// At is an error of a read object with where it was read.
type At struct {
	Source manifest.Source
	Err    error
}

func (e *At) Error() string { return e.Source.String() + ": " + e.Err.Error() }

func (e *At) Unwrap() error { return e.Err }

// CodeOf is the exit code for a command's error.
func CodeOf(err error) Code {
	var coded *Error
	switch {
	case err == nil:
		return Done
	case errors.As(err, &coded):
		return coded.Code
	}
	return Failure
}

// Print writes an error as kubectl does: one line that begins with "error: ",
// and a line for each cause when the API server has several. What a real
// cluster says comes with kubectl's own beginning, and its lines. Control characters
// are escaped, since names in it may be anyone's.
func Print(w io.Writer, err error) {
	lines := Lines(err)
	if len(lines) == 0 {
		return
	}
	var verbatim interface{ Verbatim() }
	if !errors.As(err, &verbatim) {
		lines[0] = "error: " + strings.TrimPrefix(lines[0], "error: ")
	}
	for _, line := range lines {
		fmt.Fprintln(w, manifest.Printable(line))
	}
}

// Lines words an error.
func Lines(err error) []string {
	if err == nil || err.Error() == "" {
		return nil
	}
	var verbatim interface{ Verbatim() }
	if errors.As(err, &verbatim) {
		return strings.Split(err.Error(), "\n")
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Reason != metav1.StatusReasonInvalid || status.ErrStatus.Details == nil {
		return []string{err.Error()}
	}
	prefix := ""
	var at *At
	if errors.As(err, &at) {
		prefix = at.Source.String() + ": "
	}
	return invalid(prefix, status.ErrStatus.Details)
}

// invalid is kubectl's form of a failed validation (cmd/util checkErr), each cause once.
func invalid(prefix string, details *metav1.StatusDetails) []string {
	head := fmt.Sprintf("%sThe %s %q is invalid: ", prefix, details.Kind, details.Name)
	var causes []string
	seen := map[string]bool{}
	for _, cause := range details.Causes {
		text := cause.Field + ": " + cause.Message
		if !seen[text] {
			seen[text] = true
			causes = append(causes, text)
		}
	}
	if len(causes) == 1 {
		return []string{head + causes[0]}
	}
	out := []string{strings.TrimRight(head, " ")}
	for _, cause := range causes {
		out = append(out, "* "+cause)
	}
	return out
}
