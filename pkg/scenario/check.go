package scenario

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/faults"
)

// Wrong is a part of a Scenario that cannot be.
type Wrong struct {
	Path string // below spec: steps[2].node
	Err  error
}

func (w *Wrong) Error() string { return fmt.Sprintf("spec.%s: %v", w.Path, w.Err) }

// Unwrap is the error without the place.
func (w *Wrong) Unwrap() error { return w.Err }

// Check refuses what no world can play, before one is made. Errors are *Wrong.
func Check(spec *v1alpha1.ScenarioSpec) error {
	for i := range spec.Pods {
		if _, err := behaviours(spec.Pods[i:i+1], time.Time{}, nil); err != nil {
			return wrong(fmt.Sprintf("pods[%d]", i), strings.TrimPrefix(err.Error(), "pods[0]"))
		}
	}
	for i := range spec.Steps {
		if err := CheckStep(&spec.Steps[i]); err != nil {
			return &Wrong{fmt.Sprintf("steps[%d]", i), err}
		}
	}
	for i := range spec.Faults {
		if err := checkFault(&spec.Faults[i]); err != nil {
			return &Wrong{fmt.Sprintf("faults[%d]", i), err}
		}
	}
	for i := range spec.Loads {
		if _, err := loads(spec.Loads[i : i+1]); err != nil {
			return wrong(fmt.Sprintf("loads[%d]", i), strings.TrimPrefix(err.Error(), "loads[0]"))
		}
	}
	if err := checkGroups(spec); err != nil {
		return err
	}
	for i, d := range spec.WatchDelays {
		if err := checkDelay(d); err != nil {
			return &Wrong{fmt.Sprintf("watchDelays[%d]", i), err}
		}
	}
	return nil
}

// wrong puts a place before an error that begins with the rest of it: ".never: …".
func wrong(place, text string) error {
	field, message, ok := strings.Cut(text, ": ")
	if !ok || !strings.HasPrefix(field, ".") {
		return &Wrong{place, errors.New(strings.TrimPrefix(text, ": "))}
	}
	return &Wrong{place + field, errors.New(message)}
}

// podDeeds are the words of a step's pod field, policies those of its delete field.
var (
	podDeeds = []string{"crash", "evict", "fail", "notready", "ready", "succeed"}
	policies = []string{string(metav1.DeletePropagationBackground), string(metav1.DeletePropagationForeground), string(metav1.DeletePropagationOrphan)}
)

// CheckStep refuses a step that could never be done.
func CheckStep(s *v1alpha1.ScenarioStep) error {
	if s.At.Duration < 0 {
		return fmt.Errorf("at: %s: time does not run backwards", s.At.Duration)
	}
	if s.First < 0 {
		return fmt.Errorf("first: %d is less than 0", s.First)
	}
	if n := deeds(s); n != 1 {
		return fmt.Errorf("a step does one thing: this one has %d", n)
	}
	var w World
	if _, err := w.verb(s); err != nil {
		return err
	}
	if s.Apply != nil {
		return nil
	}
	target, err := targetOf(s)
	if err != nil {
		return err
	}
	if _, err := path.Match(target.Name, ""); err != nil {
		return fmt.Errorf("target: %q is not a pattern", target.Name)
	}
	return checkDeed(s, target.Kind)
}

// deeds counts what a step does; the changes that are made in one write are one.
func deeds(s *v1alpha1.ScenarioStep) (n int) {
	alters := s.Images != nil || s.Replicas != nil || s.Restart || s.Undo != nil || s.Pause || s.Resume || s.Patch != nil || s.Labels != nil || s.Annotations != nil
	for _, each := range []bool{alters, s.Apply != nil, s.Delete != "", s.Pod != "", s.Node != "", s.Load != nil} {
		if each {
			n++
		}
	}
	return n
}

func checkDeed(s *v1alpha1.ScenarioStep, kind string) error {
	switch {
	case s.Pod != "" && !slices.Contains(podDeeds, s.Pod):
		return fmt.Errorf("pod: %q is nothing that happens to a pod: use %s", s.Pod, strings.Join(podDeeds, ", "))
	case s.Pod != "" && kind != "Pod":
		return fmt.Errorf("target %q is not a pod, to which %q could happen", s.Target, s.Pod)
	case s.Delete != "" && !slices.Contains(policies, s.Delete):
		return fmt.Errorf("delete: %q is not one of %s", s.Delete, strings.Join(policies, ", "))
	case s.Replicas != nil && *s.Replicas < 0:
		return fmt.Errorf("replicas: %d is less than 0", *s.Replicas)
	case s.Pause && s.Resume:
		return errors.New("pause and resume exclude each other")
	case (s.Restart || s.Undo != nil || s.Pause || s.Resume) && kind != "Deployment":
		return fmt.Errorf("target %q is not a deployment, which alone can be restarted, undone, paused and resumed", s.Target)
	case s.Replicas != nil && kind != "Deployment" && kind != "ReplicaSet":
		return fmt.Errorf("target %q cannot be scaled", s.Target)
	}
	return nil
}

// resources are what a fault or a delay can be about.
var resources = []string{
	sim.Deployments, sim.ReplicaSets, sim.Pods, sim.Nodes, sim.Namespaces, sim.ResourceQuotas, sim.LimitRanges, sim.Autoscalers,
	sim.DisruptionBudgs, sim.PriorityClasses, sim.Services, sim.PersistentVolumes, sim.PersistentVolumeClaims, sim.StorageClasses, sim.VolumeAttachments,
}

// checkFault refuses a fault that no request can meet.
func checkFault(f *v1alpha1.Fault) error {
	if !knownVerb(f.Verb) {
		return fmt.Errorf("verb: %q is not one of %s", f.Verb, strings.Join(verbs, ", "))
	}
	if f.Resource != "" && !slices.Contains(resources, f.Resource) {
		return fmt.Errorf("resource: the simulated server has no %q", f.Resource)
	}
	switch from, to := f.From.Duration, f.To.Duration; {
	case from < 0 || to < 0:
		return errors.New("time does not run backwards")
	case to != 0 && to <= from:
		return fmt.Errorf("%s..%s: the end is not after the beginning", from, to)
	case f.Skip < 0 || f.Times < 0:
		return errors.New("skip and times are not less than 0")
	}
	rules, err := mishaps([]v1alpha1.Fault{*f})
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "faults[0]."))
	}
	if _, err := faults.New(time.Time{}, rules...); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "fault 1: "))
	}
	return nil
}

func checkDelay(d v1alpha1.WatchDelay) error {
	switch {
	case !slices.Contains(resources, d.Resource):
		return fmt.Errorf("resource: the simulated server has no %q", d.Resource)
	case d.Until.Duration < 0:
		return fmt.Errorf("until: %s: time does not run backwards", d.Until.Duration)
	}
	return nil
}

// Horizon is when the last thing that a story tells of has happened or begun,
// counted from the start of the run.
func Horizon(spec *v1alpha1.ScenarioSpec) time.Duration {
	var last time.Duration
	see := func(all ...metav1.Duration) {
		for _, d := range all {
			last = max(last, d.Duration)
		}
	}
	for _, s := range spec.Steps {
		see(s.At)
	}
	for _, f := range spec.Faults {
		see(f.From, f.To)
	}
	for _, d := range spec.WatchDelays {
		see(d.Until)
	}
	for _, p := range spec.Pods {
		for _, w := range p.ImageMissing {
			see(w.From, w.To)
		}
		for _, f := range p.FailsProbes {
			see(f.From, f.To)
		}
	}
	return last
}
