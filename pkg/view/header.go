package view

import (
	"fmt"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// headerColumn is where the facts of the header begin; maxChanges is how many
// changed fields it lists.
const (
	headerColumn = 16
	maxChanges   = 12
)

// header says what is looked at: the workload, the change and the world.
func (s *section) header(out *printer) {
	out.parts("", 0, "  ", s.identity())
	fields := s.workload.Fields()
	last := ""
	for _, f := range fields[:min(len(fields), maxChanges)] {
		label, path := placeOf(f)
		shown := "  " + label
		if label == last {
			shown = ""
		}
		last = label
		out.labelled(shown, headerColumn, plain, fmt.Sprintf("%s  %s -> %s", path, orNone(f.From), orNone(f.To)))
	}
	if more := len(fields) - maxChanges; more > 0 {
		out.labelled("", headerColumn, muted, fmt.Sprintf("and %d more", more))
	}
	world := append([]string{}, s.spec.World...)
	if !s.live { // chance decides nothing in a real one
		world = append(world, fmt.Sprintf("seed %d", s.spec.Seed))
	}
	out.parts("  world", headerColumn, ";  ", world)
}

// identity is the workload and the limits of its strategy.
func (s *section) identity() []string {
	spec := s.workload.Spec()
	parts := []string{named(s.workload.Object), "ns " + s.workload.Object.Namespace}
	switch spec.Strategy {
	case "":
		parts = append(parts, fmt.Sprintf(" %d replicas", spec.Replicas))
	case "RollingUpdate":
		parts = append(parts, " RollingUpdate", resolved("surge", spec.MaxSurge, spec.Surge), resolved("unavailable", spec.MaxUnavailable, spec.Unavailable))
	default:
		parts = append(parts, " "+spec.Strategy)
	}
	if spec.MinReadySeconds > 0 {
		parts = append(parts, fmt.Sprintf("min ready %ds", spec.MinReadySeconds))
	}
	if text := s.revisions(); text != "" {
		parts = append(parts, " revision "+text)
	}
	if s.workload.Other {
		parts = append(parts, " touched by what the plan is about")
	}
	return parts
}

// resolved shows a limit as written and, where that differs, in pods.
func resolved(name, written string, pods int32) string {
	if written == "" || written == fmt.Sprint(pods) {
		return fmt.Sprintf("%s %d", name, pods)
	}
	return fmt.Sprintf("%s %s = %d", name, written, pods)
}

// revisions is the revision at the start and at the end.
func (s *section) revisions() string {
	first, last := "", ""
	see := func(revision string) {
		if revision == "" {
			return
		}
		if first == "" {
			first = revision
		}
		last = revision
	}
	for _, spec := range s.workload.Specs {
		see(spec.Revision)
	}
	for _, set := range s.workload.Sets {
		if s.workload.IsNew(set.Object.Name) {
			see(set.Revision)
		}
	}
	if first == last {
		return first
	}
	return first + " -> " + last
}

// placeOf is the part of the object a field belongs to, and the rest of its path with list items by name.
func placeOf(f trace.Field) (label, path string) {
	path = f.Path
	if f.Named != "" {
		path = f.Named
	}
	for _, p := range []struct{ prefix, label string }{
		{"spec.template.spec.", "template"}, {"spec.template.", "template"}, {"spec.", "spec"}, {"metadata.", "metadata"},
	} {
		if rest, ok := strings.CutPrefix(path, p.prefix); ok {
			return p.label, rest
		}
	}
	return "change", path
}

func orNone(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}
