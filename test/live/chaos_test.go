package live

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var seed = flag.Uint64("seed", 1, "of the moments at which the engine is killed")

// How much is rolled out in the chaos, and how often the engine is killed meanwhile at most.
const (
	rollouts, replicas = 20, 50
	mostKills          = 40
)

// chaos makes 20 rollouts of 50 pods while the engine is killed and started
// again, at moments that the seed chooses, and the API server crashes twice.
func (p *plane) chaos(t *testing.T) {
	b := bounds{mostSize: replicas + 13, least: replicas - 12} // 25% of 50, up and down
	c := &chaos{T: t, plane: p, random: rand.New(rand.NewPCG(*seed, 0)), namespace: "chaos"}
	p.namespace(t, c.namespace)
	for i := range rollouts {
		c.all = append(c.all, p.deploy(t, c.namespace, fmt.Sprintf("web-%02d", i), replicas))
	}
	c.start()
	c.awaitComplete()
	c.follower = p.follow(t, c.namespace, b)
	c.rage()
	c.awaitComplete()
	if code := c.engine.stop(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	c.printed += c.engine.printed()
	t.Logf("%d kills and %d API server crashes; the engine ended by itself %d times", c.kills, c.crashes, c.deaths)
	if c.crashes != 2 || c.kills < 5 {
		t.Errorf("%d API server crashes and %d kills: the rollouts were over too soon", c.crashes, c.kills)
	}
	c.follower.check(t)
	p.checkEnd(t, c.all)
	for _, want := range []string{"room: ", "status", "sees MODIFIED"} {
		if !strings.Contains(c.printed, want) {
			t.Errorf("the trace lacks %q:\n%.2000s", want, c.printed)
		}
	}
}

type chaos struct {
	*testing.T
	plane     *plane
	random    *rand.Rand
	namespace string
	all       []*appsv1.Deployment
	begun     int // rollouts, in the order of all
	follower  *follower

	engine                 *engine
	kills, crashes, deaths int
	printed                string
}

func (c *chaos) start() {
	c.engine = c.plane.startEngine(c.T, "-n", c.namespace, "--detail", "--kube-api-qps=60", "--kube-api-burst=60")
}

// keepRunning starts the engine anew when it has ended, as a kubelet would: it
// may lose its lease while there is no API server. It returns once it acts.
func (c *chaos) keepRunning() {
	c.Helper()
	eventually(c.T, 2*time.Minute, "an engine runs", func() (bool, string) {
		c.revive()
		return c.engine.running(), c.engine.said()
	})
	c.follower.serve(true)
}

func (c *chaos) revive() {
	if c.engine.ended() {
		c.deaths++
		c.printed += c.engine.printed()
		c.start()
	}
}

// rage begins the rollouts, some at a time, and kills until they are over.
func (c *chaos) rage() {
	crashAt := map[int]bool{2 + c.random.IntN(3): true, 6 + c.random.IntN(3): true}
	for round := 0; c.kills < mostKills && (c.crashes < 2 || !c.over()); round++ {
		c.keepRunning()
		c.beginSome()
		c.sleep(200, 3000)
		if crashAt[round] {
			c.crashes++
			c.plane.cluster.restartAPIServer(c.T)
			c.sleep(0, 2000)
		}
		if !c.engine.ended() {
			c.engine.kill()
			c.kills++
			c.Logf("kill %d: %s", c.kills, c.follower.state())
			c.printed += c.engine.printed()
			c.start()
		}
		c.follower.serve(false)
	}
	c.keepRunning()
	c.beginAll()
}

// beginSome begins up to six of the rollouts that have not begun.
func (c *chaos) beginSome() {
	for n := c.random.IntN(7); n > 0 && c.begun < len(c.all); n-- {
		c.plane.setImage(c.T, c.all[c.begun], "web:2")
		c.begun++
	}
}

func (c *chaos) beginAll() {
	for ; c.begun < len(c.all); c.begun++ {
		c.plane.setImage(c.T, c.all[c.begun], "web:2")
	}
}

func (c *chaos) over() bool {
	done, _ := c.complete()
	return done && c.begun == len(c.all)
}

// complete says whether all that has begun is over, and how far the first is that is not.
func (c *chaos) complete() (bool, string) {
	for _, d := range c.all {
		if done, state := c.plane.rolledOut(c.T, d); !done {
			return false, d.Name + ": " + state
		}
	}
	return true, ""
}

func (c *chaos) awaitComplete() {
	c.Helper()
	eventually(c.T, 10*time.Minute, "all Deployments are rolled out", func() (bool, string) {
		c.revive()
		return c.complete()
	})
}

// sleep waits some milliseconds from a range.
func (c *chaos) sleep(from, to int) {
	time.Sleep(time.Duration(from+c.random.IntN(to-from)) * time.Millisecond)
}

// checkEnd holds what is left against what must be: of each Deployment the old
// ReplicaSet without pods and the new with all of them, and nothing else.
func (p *plane) checkEnd(t *testing.T, all []*appsv1.Deployment) {
	t.Helper()
	namespace := all[0].Namespace
	sets, err := p.client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	app := map[string]string{} // Deployment by ReplicaSet
	sizes, owned := map[string]int32{}, map[string]int{}
	for i := range sets.Items {
		rs := &sets.Items[i]
		if owner := metav1.GetControllerOf(rs); owner != nil {
			app[rs.Name], sizes[rs.Name] = owner.Name, *rs.Spec.Replicas
			owned[owner.Name]++
		} else {
			t.Errorf("ReplicaSet %s is an orphan", rs.Name)
		}
	}
	counts := p.podsByOwner(t, namespace)
	for set, size := range sizes {
		if counts[set] != int(size) {
			t.Errorf("%d pods of ReplicaSet %s, want %d", counts[set], set, size)
		}
		delete(counts, set)
	}
	if len(counts) != 0 {
		t.Errorf("pods of nobody: %v", counts)
	}
	for _, d := range all {
		if owned[d.Name] != 2 {
			t.Errorf("%s has %d ReplicaSets, want the old and the new one", d.Name, owned[d.Name])
		}
	}
	p.checkSizes(t, all, app, sizes)
}

// checkSizes: one set of each Deployment has all its pods, the other none.
func (p *plane) checkSizes(t *testing.T, all []*appsv1.Deployment, app map[string]string, sizes map[string]int32) {
	t.Helper()
	for _, d := range all {
		full, empty := 0, 0
		for set, size := range sizes {
			switch {
			case app[set] != d.Name:
			case size == *d.Spec.Replicas:
				full++
			case size == 0:
				empty++
			}
		}
		if full != 1 || empty != 1 {
			t.Errorf("%s has %d full and %d empty ReplicaSets, want one of each", d.Name, full, empty)
		}
	}
}

// podsByOwner counts pods by the name of their controller, "" for orphans, once
// none is terminating.
func (p *plane) podsByOwner(t *testing.T, namespace string) map[string]int {
	t.Helper()
	var pods *corev1.PodList
	eventually(t, 2*time.Minute, "no pod is terminating", func() (bool, string) {
		var err error
		if pods, err = p.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
			return false, err.Error()
		}
		terminating := 0
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp != nil {
				terminating++
			}
		}
		return terminating == 0, fmt.Sprintf("%d are", terminating)
	})
	counts := map[string]int{}
	for i := range pods.Items {
		owner := ""
		if ref := metav1.GetControllerOf(&pods.Items[i]); ref != nil {
			owner = ref.Name
		}
		counts[owner]++
	}
	return counts
}
