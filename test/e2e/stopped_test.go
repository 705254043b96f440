package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

var stoppedFile = filepath.Join("testdata", "node-stops.json")

// toleration is how many seconds the pods stay bound to a node out of reach.
const toleration = 10

// slack is how much sooner or later than recorded a thing may happen. The node
// lifecycle controller looks at nodes every five seconds. When its cache is
// behind its own write it takes the node for ready once more; the try has used
// up the one taint in ten seconds that it may set.
const slack = 16

// TestStoppedNode lets one of two nodes fall silent. What the node lifecycle,
// taint eviction and ReplicaSet controllers make of it goes as it went when it
// was recorded.
func TestStoppedNode(t *testing.T) {
	t.Parallel()
	s := stageOf(t, cluster.Everything(2))
	x := s.scene(t, "stopped")
	a := web(4)
	a.leaves = toleration
	x.settle(t, []app{a})
	mark := x.recorder.mark()
	stopped := x.silence(t, "node-0")
	x.awaitReplacements(t)

	got := tellStory(x.recorder.all(), mark, stopped)
	t.Log("\n" + got.String())
	if *rerecord {
		got.write(t)
	}
	for _, difference := range got.differences(readStory(t)) {
		t.Error(difference)
	}
}

// silence ends a node's signs of life: kwok leaves a node alone whose lease
// another has. The renewal that takes the lease over is the last sign.
func (x *scene) silence(t *testing.T, node string) time.Time {
	t.Helper()
	leases := x.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("nobody"), ptr.To[int32](3600)
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return now
}

// awaitReplacements waits until the Deployment has lost pods and has all again.
func (x *scene) awaitReplacements(t *testing.T) {
	t.Helper()
	x.do(t, "", "wait", "deploy/web", "--for=jsonpath={.status.terminatingReplicas}=2", "--timeout=150s")
	x.do(t, "", "wait", "deploy/web", "--for=jsonpath={.status.availableReplicas}=4", "--timeout=30s")
}

// happening is one thing that becomes of the node or of a pod.
type happening struct {
	Seconds float64 `json:"seconds"` // since the node's last sign of life
	Who     string  `json:"who"`     // node-0; lost-1 was a pod of it, kept-1 one of the other node, new-1 came after
	What    string  `json:"what"`
}

type story []happening

// tellStory folds what was recorded after a mark.
func tellStory(events []seen, mark int, stopped time.Time) (out story) {
	known, names, counts := map[string]map[string]string{}, map[string]string{}, map[string]int{}
	for i, e := range events {
		key, facts := factsOf(e)
		if key == "" {
			continue
		}
		if i < mark {
			known[key] = facts
			continue
		}
		who, named := names[key]
		if !named {
			who = part(e.obj, known[key] != nil, counts)
			names[key] = who
		}
		for _, what := range changes(known[key], facts) {
			out = append(out, happening{float64(e.at.Sub(stopped).Milliseconds()) / 1000, who, what})
		}
		known[key] = facts
	}
	return out
}

// part is what an object is called in the story.
func part(obj metav1.Object, there bool, counts map[string]int) string {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj.GetName()
	}
	role := "new"
	if there && pod.Spec.NodeName == "node-0" {
		role = "lost"
	} else if there {
		role = "kept"
	}
	counts[role]++
	return fmt.Sprintf("%s-%d", role, counts[role])
}

// factsOf are the words for how a node or a pod is, by what they are about.
func factsOf(e seen) (key string, facts map[string]string) {
	facts = map[string]string{}
	switch o := e.obj.(type) {
	case *corev1.Node:
		for _, c := range o.Status.Conditions {
			facts[string(c.Type)] = fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason)
		}
		for _, taint := range o.Spec.Taints {
			facts[taint.ToString()] = "taint " + taint.ToString()
		}
	case *corev1.Pod:
		for _, c := range o.Status.Conditions {
			facts[string(c.Type)] = strings.TrimSpace(fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
		}
		facts["phase"] = string(o.Status.Phase)
		if o.DeletionTimestamp != nil {
			facts["deleted"] = fmt.Sprintf("deleted, grace %d s", *o.DeletionGracePeriodSeconds)
		}
		if e.verb == watch.Deleted {
			facts["gone"] = "gone"
		}
	default:
		return "", nil
	}
	return fmt.Sprintf("%T %s", e.obj, e.obj.GetName()), facts
}

// changes are the facts that are new, in order, and those that no longer are.
func changes(before, after map[string]string) (out []string) {
	for _, about := range sortedKeys(after) {
		if before[about] != after[about] {
			out = append(out, after[about])
		}
	}
	for _, about := range sortedKeys(before) {
		if _, still := after[about]; !still {
			out = append(out, "no "+before[about])
		}
	}
	return out
}

func (s story) String() string {
	var b strings.Builder
	for _, h := range s {
		fmt.Fprintf(&b, "%7.3fs %-8s %s\n", h.Seconds, h.Who, h.What)
	}
	return b.String()
}

// of is what becomes of one.
func (s story) of(who string) (out story) {
	for _, h := range s {
		if h.Who == who {
			out = append(out, h)
		}
	}
	return out
}

// differences are in what it went otherwise than recorded: the same has to
// become of everyone in the same order, at about the same times.
func (s story) differences(recorded story) (out []string) {
	whos := map[string]bool{}
	for _, h := range slices.Concat(recorded, s) {
		whos[h.Who] = true
	}
	for _, who := range sortedKeys(whos) {
		got, want := s.of(who), recorded.of(who)
		if len(got) != len(want) {
			out = append(out, fmt.Sprintf("of %s became\n%srecorded was\n%s", who, got, want))
			continue
		}
		for i := range got {
			if got[i].What != want[i].What || got[i].Seconds < want[i].Seconds-slack || got[i].Seconds > want[i].Seconds+slack {
				out = append(out, fmt.Sprintf("%s: %s at %.1f s, recorded %s at %.1f s", who, got[i].What, got[i].Seconds, want[i].What, want[i].Seconds))
			}
		}
	}
	return out
}

func readStory(t *testing.T) (s story) {
	t.Helper()
	data, err := os.ReadFile(stoppedFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("%s: %v", stoppedFile, err)
	}
	return s
}

func (s story) write(t *testing.T) {
	t.Helper()
	var lines []string
	for _, h := range s {
		line, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if err := os.WriteFile(stoppedFile, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
