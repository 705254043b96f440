package predict

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/diagnosis"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Stage is an input that was read once and is played as often as one likes, by
// several goroutines at once.
type Stage struct {
	options *Options
	scene   *scene
}

// Variant is how one play differs from the others.
type Variant struct {
	Seed uint64
	// Edit is asked of every object on its way into the world and returns it or
	// a changed copy; nil leaves all as they are.
	Edit func(manifest.Object) manifest.Object
}

// Played is what one play came to.
type Played struct {
	Status   v1alpha1.RolloutPlanStatus
	Specs    []trace.Specified // of the workloads at the end
	Facts    []string          // what the world was taken to be
	Warnings []string
	// Requests is the most that the pods of the workloads asked for at once.
	Requests v1alpha1.Requests
}

// ReadStage reads the input.
func ReadStage(ctx context.Context, o *Options) (*Stage, error) {
	s, err := newScene(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	return &Stage{options: o, scene: s}, nil
}

// Warnings are those of the reading.
func (s *Stage) Warnings() []string { return s.scene.warnings }

// Spec is the question, as a result repeats it.
func (s *Stage) Spec() v1alpha1.RolloutPlanSpec { return s.options.spec(s.scene) }

// Play simulates the change.
func (s *Stage) Play(ctx context.Context, v Variant) (*Played, error) {
	o, scene := *s.options, s.scene.copy()
	o.Seed, o.Diagnose = v.Seed, false
	o.meter = newMeter(scene.workloads)
	log := trace.NewLog()
	log.Sink = o.meter.see
	relaxed := &diagnosis.Relaxed{}
	if v.Edit != nil {
		relaxed.Edit = func(obj diagnosis.Object) diagnosis.Object { return v.Edit(obj) }
	}
	r, err := simulateIn(ctx, &o, scene, log, relaxed)
	if err != nil {
		return nil, err
	}
	tl := timeline.Build(scene.worthTelling(log.Events()), timeline.Options{Started: scene.start, Workloads: scene.workloads})
	p := &Played{Status: tl.Status(), Facts: scene.facts, Warnings: append(scene.warnings, r.warnings...), Requests: o.meter.most()}
	for _, w := range tl.Workloads[:len(scene.workloads)] {
		p.Specs = append(p.Specs, w.Spec())
	}
	return p, nil
}

// Digest tells inputs apart: two stages with one digest and one seed play alike.
func (s *Stage) Digest() (string, error) {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, items := range [][]manifest.Item{s.scene.loaded, s.scene.settled, s.scene.applied} {
		for _, item := range items {
			if err := encoder.Encode(item.Object); err != nil {
				return "", fmt.Errorf("encoding %s: %w", manifest.Name(item.Object), err)
			}
		}
		if err := encoder.Encode(len(items)); err != nil {
			return "", err
		}
	}
	if err := encoder.Encode([]any{s.options.verbs(), s.scene.story, s.scene.targets}); err != nil {
		return "", fmt.Errorf("encoding the change: %w", err)
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// copy is a scene with objects of its own: a world may work on what they point
// to, and each play has its own world.
func (s *scene) copy() *scene {
	out := *s
	out.loaded, out.settled, out.applied = copies(s.loaded), copies(s.settled), copies(s.applied)
	out.story = (&v1alpha1.Scenario{Spec: s.story}).DeepCopyObject().(*v1alpha1.Scenario).Spec
	out.facts, out.warnings = slices.Clip(s.facts), []string(nil)
	if s.snapshot != nil {
		snapshot := *s.snapshot
		out.snapshot = &snapshot
	}
	out.answers = make(map[trace.Ref]manifest.Object, len(s.answers))
	for at, answer := range s.answers {
		out.answers[at] = answer
		if answer != nil {
			out.answers[at] = answer.DeepCopyObject().(manifest.Object)
		}
	}
	return &out
}

func copies(items []manifest.Item) []manifest.Item {
	out := slices.Clone(items)
	for i := range out {
		out[i].Object = out[i].Object.DeepCopyObject().(manifest.Object)
	}
	return out
}
