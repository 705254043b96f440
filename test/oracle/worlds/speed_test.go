package worlds

import (
	"strings"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// large is a rollout of two hundred pods, and one back.
const large = `
seed 1
0s watch all low=0s high=0s tail=0s
0s kubelet all bind=10ms ready=2s stop=1s never=0 crash=0
0s deployment web app=web replicas=200 surge=25% unavailable=25% strategy=RollingUpdate image=1
60s set web image=2
180s set web image=3
300s end all
`

// TestSpeed holds the processor time of our passes against upstream's, over the
// same states. A pass of ours that writes nothing must not take longer.
func TestSpeed(t *testing.T) {
	s, err := parse(large)
	if err != nil {
		t.Fatal(err)
	}
	took := newSpeed()
	if d, n := playTimed(t, s, took); d != nil || n.writes < 1000 {
		t.Fatalf("%d writes: %v", n.writes, d)
	}
	actors := []string{trace.ActorDeployment, trace.ActorReplicaSet}
	t.Log("processor time\n" + strings.Join(took.lines(actors...), "\n"))
	for _, actor := range actors {
		if quiet := took.of[kindOfPass{actor, false}]; quiet == nil || quiet.ours > quiet.upstream {
			t.Errorf("%s: passes without writes took longer than upstream's: %+v", actor, quiet)
		}
	}
}
