package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// toleration is how many seconds the pods stay bound to a node out of reach.
const toleration = 10

// slack is how many seconds sooner or later than predicted a thing may happen.
// The node lifecycle controller looks at nodes every five seconds, and a plan
// cannot know when.
const slack = 10

// stops is how many nodes are stopped, at most, until one goes as predicted.
// When the controller's cache is behind its own write as it looks at the node
// for the taint, it takes it for ready once more, and that has used up the one
// taint in ten seconds that it may set.
const stops = 3

// TestStoppedNode ends what plays a node's kubelet. What the node lifecycle,
// taint eviction and ReplicaSet controllers make of that is what was planned.
func TestStoppedNode(t *testing.T) {
	t.Parallel()
	o := cluster.Everything(4)
	o.Stoppable = true
	s := stageOf(t, o)
	x := s.scene(t, "stopped")
	a := web(8)
	a.leaves = toleration
	x.settle(t, []app{a})
	var predicted, real story
	var differences []string
	for run := range stops {
		predicted, real = x.stop(t, fmt.Sprintf("node-%d", run))
		if differences = predicted.differences(real); len(differences) == 0 {
			break
		}
		t.Logf("node-%d went otherwise than predicted:\n%s", run, strings.Join(differences, "\n"))
	}
	for _, difference := range differences {
		t.Error(difference)
	}
	t.Log("\n" + predicted.beside(real))
	if *rewrite {
		writeSection(t, accuracy, "A node that stops", stoppedText+predicted.beside(real))
	}
}

const stoppedText = `The process that plays one of four nodes is killed, under two of the eight pods of a Deployment. They tolerate a lost
node for 10 seconds. ` + "`plan deploy/web --at 0s:node-down=node-0`" + ` has said just before what comes of it. Seconds count
from the kill, which comes as long after the node's last heartbeat as the plan assumes, since no plan can know that; the
rounds of five seconds in which the controllers look at nodes are as they come. The same must become of the node and of
each pod in the same order, at most 10 seconds sooner or later. When one node goes otherwise another is stopped, up to
three.

`

// stop plans the stop of a node, stops it and tells what came of both.
func (x *scene) stop(t *testing.T, node string) (predicted, real story) {
	t.Helper()
	predicted, silent := predictedStory(x.plan(t, "", append([]string{"deploy/web", "--at", "0s:node-down=" + node}, goneAfter...)), node)
	t.Logf("predicted, %s after the last heartbeat:\n%s", silent, predicted)
	mark := x.recorder.mark()
	stopped := x.kill(t, node, silent)
	deadline := stopped.Add(2 * time.Minute)
	for len(real) < len(predicted) && time.Now().Before(deadline) {
		time.Sleep(250 * time.Millisecond)
		real = realStory(x.recorder.all(), mark, node, stopped)
	}
	time.Sleep(3 * time.Second) // longer than the pods' grace: those of the node must not go
	real = realStory(x.recorder.all(), mark, node, stopped)
	t.Logf("real:\n%s", real)
	return predicted, real
}

// kill ends a node's kubelet so long after a heartbeat, and returns when.
func (x *scene) kill(t *testing.T, node string, silent time.Duration) time.Time {
	t.Helper()
	last := x.heartbeat(t, node)
	for x.heartbeat(t, node).Equal(last) {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(time.Until(x.heartbeat(t, node).Add(silent)))
	if err := x.cluster.StopNode(node); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// heartbeat is when a node's lease was last renewed.
func (x *scene) heartbeat(t *testing.T, node string) time.Time {
	t.Helper()
	lease, err := x.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease.Spec.RenewTime.Time
}
