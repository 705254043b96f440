package live

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mostApplied is how often an apply that drives is killed at most. Each time
// the lease of the dead one has to run out before the next drives.
const mostApplied = 8

// applied makes 20 rollouts of 50 pods by one apply that drives them, which is
// killed and started again with the same manifest at moments that the seed
// chooses, while the API server crashes twice.
func (p *plane) applied(t *testing.T) {
	a := &applying{T: t, plane: p, random: rand.New(rand.NewPCG(*seed, 1)), namespace: "applied"}
	p.namespace(t, a.namespace)
	for i := range rollouts {
		d := web(fmt.Sprintf("web-%02d", i), replicas)
		d.Namespace = a.namespace
		a.all = append(a.all, d)
	}
	a.start("web:1")
	if code := a.outcome(); code != 0 {
		t.Fatalf("exit code %d of the first apply\n%s", code, a.run.said())
	}
	follower := p.follow(t, a.namespace, bounds{mostSize: replicas + 13, least: replicas - 12})
	crashAt := map[int]bool{1 + a.random.IntN(2): true, 4 + a.random.IntN(2): true}
	for round := 0; ; round++ {
		a.start("web:2")
		if round < mostApplied && a.awaitDriving() {
			follower.serve(true)
			a.sleep(0, 9000)
		}
		if crashAt[round] {
			a.crashes++
			p.cluster.restartAPIServer(t)
			a.sleep(0, 2000)
		}
		if round >= mostApplied || a.run.ended() {
			code := a.outcome()
			if code == 0 {
				break
			}
			a.failed = append(a.failed, a.run.said())
			if round >= mostApplied {
				t.Fatalf("exit code %d\n%s", code, a.run.said())
			}
		} else {
			a.run.kill()
			a.kills++
			t.Logf("kill %d: %s", a.kills, follower.state())
		}
		follower.serve(false)
	}
	t.Logf("%d kills and %d API server crashes; apply failed %d times by itself: %s", a.kills, a.crashes, len(a.failed), strings.Join(a.failed, "; "))
	if a.crashes != 2 || a.kills < 4 {
		t.Errorf("%d API server crashes and %d kills: the rollouts were over too soon", a.crashes, a.kills)
	}
	follower.check(t)
	p.checkEnd(t, a.all)
}

type applying struct {
	*testing.T
	plane     *plane
	random    *rand.Rand
	namespace string
	all       []*appsv1.Deployment

	run            *engine
	kills, crashes int
	failed         []string
}

// start applies all Deployments with an image.
func (a *applying) start(image string) {
	a.Helper()
	list := corev1.List{}
	list.APIVersion, list.Kind = "v1", "List"
	for _, d := range a.all {
		d := d.DeepCopy()
		d.APIVersion, d.Kind = "apps/v1", "Deployment"
		d.Spec.Template.Spec.Containers[0].Image = image
		data, err := json.Marshal(d)
		if err != nil {
			a.Fatal(err)
		}
		list.Items = append(list.Items, runtime.RawExtension{Raw: data})
	}
	data, err := json.Marshal(list)
	if err != nil {
		a.Fatal(err)
	}
	file := filepath.Join(a.TempDir(), "all.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		a.Fatal(err)
	}
	a.run = a.plane.launch(a.T, "apply", "-f", file, "-n", a.namespace, "--yes", "--driver=embedded", "--detail=decisions")
}

// awaitDriving says that the apply drives; false when it has ended, or when the
// seed has it killed before.
func (a *applying) awaitDriving() bool {
	a.Helper()
	if a.random.IntN(4) == 0 {
		a.sleep(0, 3000)
		return false
	}
	eventually(a.T, 2*time.Minute, "the apply drives", func() (bool, string) {
		return a.run.ended() || strings.Contains(a.run.printed(), "this process drives"), a.run.said()
	})
	return !a.run.ended()
}

// outcome waits for the end of the apply.
func (a *applying) outcome() int {
	a.Helper()
	eventually(a.T, 10*time.Minute, "the apply has ended", func() (bool, string) { return a.run.ended(), a.run.said() })
	return a.run.cmd.ProcessState.ExitCode()
}

// sleep waits some milliseconds from a range.
func (a *applying) sleep(from, to int) {
	time.Sleep(time.Duration(from+a.random.IntN(to-from)) * time.Millisecond)
}
