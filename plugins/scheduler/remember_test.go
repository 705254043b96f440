package scheduler

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// TestRemembered: after any change, a scheduler that has followed all of them
// sees the nodes as one does that has just come, and a filter that is not heard
// would have refused nothing.
func TestRemembered(t *testing.T) {
	d := drama{Rand: rand.New(rand.NewPCG(1, 2)), pods: map[types.UID]*corev1.Pod{}}
	old := d.stage()
	refused, differ := 0, 0
	for step := range 3000 {
		d.change(old)
		pod := d.pod(d.IntN(templates))
		p := old.read(pod)
		for i, f := range old.filters {
			for _, here := range old.cluster.sorted() {
				if p.heard&(1<<i) == 0 && f.refuses(p, here.node) != nil {
					t.Fatalf("step %d: filter %d has something to say", step, i)
				}
			}
		}
		fresh := d.newcomer()
		got, want := old.assess(p), fresh.assess(fresh.read(pod))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("step %d, pod %+v:\ngot  %v\nwant %v", step, pod.Spec, got, want)
		}
		for _, a := range got {
			if len(a.Reasons) > 0 {
				refused++
			} else if a.Score != got[0].Score {
				differ++
			}
		}
	}
	if refused < 1000 || differ < 1000 {
		t.Errorf("%d refusals and %d different scores are too few to tell", refused, differ)
	}
}

// drama is nodes and pods that change at random.
type drama struct {
	*rand.Rand
	nodes []*corev1.Node // in order of arrival
	pods  map[types.UID]*corev1.Pod
	order []types.UID
	made  int
}

func (d *drama) stage() *Plugin {
	s := New(Options{})
	s.know(sim.New(sim.Config{}).Stored(), rollout.LatestVersion)
	return s
}

// newcomer is a scheduler that sees everything for the first time.
func (d *drama) newcomer() *Plugin {
	s := d.stage()
	for _, n := range d.nodes {
		s.cluster.setNode(n)
	}
	for _, uid := range d.order {
		s.cluster.place(number(uid), d.pods[uid], d.pods[uid].Spec.NodeName, false)
	}
	return s
}

// number is where a scheduler keeps a pod: the UIDs here are numbers.
func number(uid types.UID) int {
	n, err := strconv.Atoi(string(uid))
	if err != nil {
		panic(err) // a test's own mistake
	}
	return n
}

func (d *drama) change(s *Plugin) {
	switch what := d.IntN(10); {
	case len(d.nodes) < 4 || what == 0 && len(d.nodes) < 12:
		d.made++
		d.nodes = append(d.nodes, d.node(fmt.Sprint("node-", d.made)))
		s.cluster.setNode(d.nodes[len(d.nodes)-1])
	case what == 1:
		i := d.IntN(len(d.nodes))
		d.nodes[i] = d.node(d.nodes[i].Name)
		s.cluster.setNode(d.nodes[i])
	case what == 2 && len(d.nodes) > 4:
		i := d.IntN(len(d.nodes))
		s.cluster.dropNode(d.nodes[i].Name)
		d.nodes = slices.Delete(d.nodes, i, i+1)
	case what == 3 && len(d.order) > 0: // asked to go
		uid := d.order[d.IntN(len(d.order))]
		going := *d.pods[uid]
		going.DeletionTimestamp = &metav1.Time{}
		d.pods[uid] = &going
		s.cluster.place(number(uid), &going, going.Spec.NodeName, false)
	case what < 6 && len(d.order) > 0:
		i := d.IntN(len(d.order))
		s.cluster.displace(s.cluster.pods.At(number(d.order[i]), d.order[i]))
		delete(d.pods, d.order[i])
		d.order = slices.Delete(d.order, i, i+1)
	default:
		pod := d.pod(d.IntN(templates))
		d.made++
		pod.UID = types.UID(fmt.Sprint(d.made))
		pod.Spec.NodeName = d.nodes[d.IntN(len(d.nodes))].Name
		d.pods[pod.UID], d.order = pod, append(d.order, pod.UID)
		s.cluster.place(d.made, pod, pod.Spec.NodeName, false)
	}
}

func (d *drama) node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = corev1.ResourceList{"pods": resource.MustParse(fmt.Sprint(1 + d.IntN(5))), "memory": resource.MustParse("8Gi"),
		"cpu": resource.MustParse(fmt.Sprint(1 + d.IntN(4)))}
	if d.IntN(3) > 0 {
		n.Labels[corev1.LabelTopologyZone] = string(rune('a' + d.IntN(2)))
	}
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if i := d.IntN(20); i < len(effects) {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "db", Effect: effects[i]}}
	}
	n.Spec.Unschedulable = d.IntN(20) == 0
	return n
}

const templates = 4

// specs are what the pods of each template share.
var specs = func() (out [templates]corev1.PodSpec) {
	for i := range out {
		out[i].Containers = []corev1.Container{{Name: "app", Image: "web"}}
	}
	for i := range out[1:] {
		out[i+1].Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("300m"), "memory": resource.MustParse("1Gi")}
	}
	kind := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "2"}}
	out[2].Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	out[2].TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{MaxSkew: 2, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: kind},
		{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: kind}}
	out[3].Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	out[3].Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: kind}}}}
	out[3].NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
	return out
}()

func (d *drama) pod(template int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"app": fmt.Sprint(template)}},
		Spec: specs[template]}
}

// TestPlacedAnew: a pod that asks for something else is taken off its node and
// put there again. Where it was all that is known of the node, the two are one
// node still.
func TestPlacedAnew(t *testing.T) {
	d := drama{Rand: rand.New(rand.NewPCG(1, 2))}
	c := d.stage().cluster
	for range 2 {
		pod := d.pod(0)
		pod.UID, pod.Spec.Containers = "1", []corev1.Container{{Name: "other"}}
		c.place(1, pod, "unheard-of", false)
	}
	p, n := c.pods.At(1, "1"), c.nodes["unheard-of"]
	if p == nil || n == nil || p.node != n || n.count != 1 || len(n.pods) != 1 {
		t.Errorf("pod %+v on node %+v", p, n)
	}
	if c.pods.At(1, "2") != nil {
		t.Error("a namesake is placed as well")
	}
}
