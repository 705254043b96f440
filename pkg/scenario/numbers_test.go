package scenario_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubectl/pkg/polymorphichelpers"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// sum tells an arithmetic of a Deployment's pass, as in 13 pods - 8 needed = 5.
func (t *teller) sum(what string, e trace.Event, rule trace.Rule, terms []trace.Term, result int32) {
	if e.Actor != trace.ActorDeployment {
		return
	}
	words := make([]string, len(terms))
	for i, term := range terms {
		words[i] = fmt.Sprintf("%+d %s", term.Value, term.Name)
	}
	line := fmt.Sprintf("%s %s/%s %s: %s = %d", what, e.Object.Kind, e.Object.Name, rule, strings.Join(words, " "), result)
	if what == "hold" && slices.Contains(t.lines, line) {
		return // one pass after the other says so
	}
	t.say("sums", "%s", line)
}

// inPass counts what a ReplicaSet's pass writes to pods.
func (t *teller) inPass(e trace.Event, d trace.Wrote) {
	if e.Object.Kind == "Event" {
		t.eventWrites = append(t.eventWrites, fmt.Sprintf("%s %s", e.Actor, d.Verb))
	}
	if e.Actor == trace.ActorReplicaSet && e.Object.Kind == "Pod" {
		t.pods[d.Code < 300]++
	}
}

// passBegan ends the ReplicaSet pass before: of one that went well nothing else tells.
func (t *teller) passBegan(e trace.Event) {
	if e.Actor != trace.ActorReplicaSet {
		return
	}
	t.passOver()
	t.pass = fmt.Sprintf("pass over %s from %s", e.Object.Name, e.Offset.Round(time.Millisecond))
}

// passEnded tells of a pass that failed, with its own time: nothing else may happen then.
func (t *teller) passEnded(e trace.Event, d trace.SyncEnded) {
	if e.Actor == trace.ActorReplicaSet {
		t.passOver()
	}
	if d.Error != "" {
		t.say("errors", "%s of %s at %s: %s", e.Actor, e.Object.Name, e.Offset.Round(time.Millisecond), d.Error)
	}
}

// passOver tells of a ReplicaSet's pass that wrote to pods.
func (t *teller) passOver() {
	if len(t.pods) > 0 {
		t.say("passes", "%s: %d pod writes succeeded, %d failed", t.pass, t.pods[true], t.pods[false])
	}
	clear(t.pods)
}

// reached tells when a number of pods had been created.
func (t *teller) reached(e trace.Event) {
	if t.made++; slices.Contains(t.reach, strconv.Itoa(t.made)) {
		t.lines = append(t.lines, fmt.Sprintf("pod %d is created at %s", t.made, e.Offset.Round(time.Millisecond)))
	}
}

// eventTotals tells how many Events were written in how many calls.
func (t *teller) eventTotals() {
	if !t.print["eventwrites"] {
		return
	}
	slices.Sort(t.eventWrites)
	for len(t.eventWrites) > 0 {
		kind := t.eventWrites[0]
		n := 0
		for n < len(t.eventWrites) && t.eventWrites[n] == kind {
			n++
		}
		fmt.Fprintf(&t.out, "Event writes: %s %d\n", kind, n)
		t.eventWrites = t.eventWrites[n:]
	}
}

// status is kubectl's own view of the Deployment web.
func (s *story) status(d *datadriven.TestData) string {
	obj, ok := s.world.Stored().Get(sim.Deployments, "default", "web")
	if !ok {
		d.Fatalf(s.t, "no Deployment web")
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	text, _, err := (&polymorphichelpers.DeploymentStatusViewer{}).Status(&unstructured.Unstructured{Object: content}, 0)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	return text
}
