package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// The size of the cluster that a plan has to cope with, and what it may take.
const (
	largeNodes = 300
	largePods  = 5000
	mostMemory = 150 << 20 // bytes
	// mostWork is in what kubectl works to print the same nodes and pods. On a
	// machine where that takes ten seconds a plan may take two; the proportion
	// hardly depends on the machine and on what else it does.
	mostWork = 0.20
)

// TestLargeCluster plans against a cluster of 300 nodes and 5,000 other pods,
// as one who may do everything and as one who may hardly read.
func TestLargeCluster(t *testing.T) {
	s := stageOf(t, cluster.Options{
		Controllers: []string{"deployment-controller", "replicaset-controller"}, Scheduler: true, Nodes: 3, Kubectl: true, Users: []string{"reader"},
		// The other nodes and pods are written once and then left alone.
		Flags: map[cluster.Program][]string{cluster.Kwok: {"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake"}},
	})
	for i := range 3 {
		s.kubectl(t, "", "label", "node", "node-"+strconv.Itoa(i), "room=kept")
	}
	x := s.scene(t, "team")
	a := web(10)
	a.room = "kept"
	x.settle(t, []app{a})
	s.crowd(t)
	t.Run("everything", func(t *testing.T) { x.planWithin(t) })
	t.Run("few rights", func(t *testing.T) { x.planWithFewRights(t) })
}

// planWithin plans a new image three times and looks at what it takes. The
// least is compared: what is more is the machine's other work, which also decides
// when garbage is collected.
func (x *scene) planWithin(t *testing.T) {
	var figures []string
	_, read := x.measure(t, x.command(t.Context(), "get", "nodes,pods", "--all-namespaces", "-o", "json"))
	var works []time.Duration
	var memories []int64
	for range 3 {
		out, took := x.measure(t, x.command(t.Context(), "rollout-sim", "plan", "deploy/web", "--image", "app="+v2, "--namespace", x.namespace))
		if !strings.Contains(out, fmt.Sprint(largeNodes, " nodes")) {
			t.Fatal(out)
		}
		works, memories = append(works, took.Busy), append(memories, took.Memory)
		figures = append(figures, fmt.Sprintf("%.2f s (%.2f s of them at work) and %d MB", took.Took.Seconds(), took.Busy.Seconds(), took.Memory>>20))
	}
	if least := slices.Min(memories); least > mostMemory {
		t.Errorf("a plan took %d MB", least>>20)
	}
	share := slices.Min(works).Seconds() / read.Busy.Seconds()
	text := fmt.Sprintf("A plan with %d nodes and %d pods of others, through kubectl, took\n%s.\n"+
		"The least work is %.2f times that of `kubectl get nodes,pods -A -o json` (%.2f s).\nThe test allows %.2f times, and %d MB.",
		largeNodes, largePods, strings.Join(figures, ",\n"), share, read.Busy.Seconds(), mostWork, mostMemory>>20)
	t.Log(text)
	if share > mostWork {
		t.Errorf("a plan works %.2f times as much as kubectl does to print the cluster", share)
	}
	if *rewrite {
		writeSection(t, accuracy, "A large cluster", text)
	}
}

// usage is what a command took.
type usage struct {
	Took, Busy time.Duration
	Memory     int64 // bytes held at most
}

const measureInto = "ROLLOUT_SIM_MEASURE_INTO"

// TestMain becomes, when asked to, the process that measures a command: the
// memory of a child counts that of the parent that it was forked from, and a
// test that has filled a cluster is large.
func TestMain(m *testing.M) {
	if file := os.Getenv(measureInto); file != "" {
		if err := measured(file, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rollout-sim-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	installed = dir
	return m.Run()
}

func measured(file string, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	state := cmd.ProcessState
	u := usage{time.Since(began), state.UserTime() + state.SystemTime(), state.SysUsage().(*syscall.Rusage).Maxrss}
	if runtime.GOOS != "darwin" {
		u.Memory <<= 10 // only Darwin tells bytes, the others kilobytes
	}
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// measure runs a command that must succeed.
func (x *scene) measure(t *testing.T, cmd *exec.Cmd) (string, usage) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "usage.json")
	self := exec.CommandContext(t.Context(), os.Args[0], cmd.Args...)
	self.Env = append(cmd.Env, measureInto+"="+file)
	out, err := self.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var u usage
	if err := json.Unmarshal(data, &u); err != nil {
		t.Fatal(err)
	}
	return string(out), u
}

const readerRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: team}
rules:
- {apiGroups: [apps], resources: [deployments, replicasets], verbs: [get, list]}
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
`

// unread is how many lines tell one who may read a namespace's workloads alone
// what was not read: nodes; quotas, limit ranges and the namespace; autoscalers.
const unread = 3

// planWithFewRights: what may not be read is told in a line each, and the plan stands.
func (x *scene) planWithFewRights(t *testing.T) {
	x.do(t, readerRights, "apply", "-f", "-")
	path, err := x.cluster.Kubeconfig("reader")
	if err != nil {
		t.Fatal(err)
	}
	cmd := x.command(t.Context(), "rollout-sim", "plan", "deploy/web", "--image", "app="+v2, "--namespace", x.namespace, "--kubeconfig", path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var warnings []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "warning: ") {
			warnings = append(warnings, line)
		}
	}
	t.Logf("%d warnings:\n%s", len(warnings), strings.Join(warnings, ""))
	if len(warnings) != unread || !strings.Contains(string(out), "Complete after") {
		t.Errorf("wanted %d warnings and a plan:\n%s", unread, out)
	}
}

// crowd fills the cluster: nodes that nobody plays, and pods on them.
func (s *stage) crowd(t *testing.T) {
	t.Helper()
	began := time.Now()
	inParallel(t, largeNodes-3, func(i int) error { return s.addNode(t.Context(), fmt.Sprintf("other-%d", i)) })
	inParallel(t, 10, func(i int) error {
		_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: crowdIn(i)}}, metav1.CreateOptions{})
		return err
	})
	inParallel(t, largePods, func(i int) error { return s.addPod(t.Context(), i) })
	t.Logf("%d nodes and %d pods made in %s", largeNodes, largePods, time.Since(began).Round(time.Second))
}

func crowdIn(i int) string { return fmt.Sprintf("others-%d", i%10) }

func (s *stage) addNode(ctx context.Context, name string) error {
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}},
	}
	if _, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := s.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
	return err
}

// addPod makes a running pod of the size that pods have in the wild.
func (s *stage) addPod(ctx context.Context, i int) error {
	container := corev1.Container{
		Name: "app", Image: "registry.example.com/team/service:1.2.3",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")}},
	}
	for n := range 20 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", n), Value: strings.Repeat("value ", 10)})
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Labels: map[string]string{"app": fmt.Sprintf("service-%d", i%50)}},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("other-%d", i%(largeNodes-3)), Containers: []corev1.Container{container, container},
			TerminationGracePeriodSeconds: ptr.To[int64](30)},
	}
	pod.Spec.Containers[1].Name = "sidecar"
	made, err := s.client.CoreV1().Pods(crowdIn(i)).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.Phase = corev1.PodRunning
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err = s.client.CoreV1().Pods(crowdIn(i)).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

// inParallel makes n calls, 16 at a time.
func inParallel(t *testing.T, n int, call func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wait sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			errs[i] = call(i)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
