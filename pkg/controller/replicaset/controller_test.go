package replicaset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// TestController runs the stories in testdata. A block is run and prints what
// happens, or count, which prints how many writes it made. Commands:
//
//	version 1.33                       start over as that release
//	rs NAME replicas=3 [owner=D] [minReady=10] [labels=k=v,...] [match=k=v,...] [match!]
//	                                   make a ReplicaSet, or change the named fields
//	delete-rs NAME [finalizer]         remove it, or only mark it
//	pod NAME [node=] [phase=] [ready] [notready] [going] [labels=] [owner=RS]
//	                                   make a pod, or change the named fields
//	gone NAME                          the pod is removed
//	deliver [pods|replicasets] [n]     hand over pending watch events
//	quiet-deliver                      the same without printing
//	sync NAME                          one pass
//	wait 5m                            move the clock
//	quota N                            most pods there may be; 0 for no limit
//	break VERB RESOURCE [text|-terminating]   such calls fail; no text mends them
//	meanwhile [pods|replicasets]       events arrive right after each write
func TestController(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{world: newWorld(rollout.LatestVersion)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
				s.do(t, strings.Fields(line))
			}
			if d.Cmd == "count" {
				return s.counts()
			}
			return s.out.String()
		})
	})
}

type script struct{ *world }

// counts sums up a pass with many writes by the first word of its lines.
func (s *script) counts() string {
	n := map[string]int{}
	for _, line := range strings.Split(s.out.String(), "\n") {
		n[strings.SplitN(line, " ", 2)[0]]++
	}
	return fmt.Sprintf("POST %d, DELETE %d, PUT %d, events %d\n", n["POST"], n["DELETE"], n["PUT"], n["event"])
}

func (s *script) do(t *testing.T, words []string) {
	if len(words) == 0 {
		return
	}
	args := words[1:]
	switch words[0] {
	case "version":
		v, err := rollout.ParseVersion(args[0])
		if err != nil {
			t.Fatal(err)
		}
		s.controller = New(v)
	case "rs":
		s.rs(t, args)
	case "delete-rs":
		s.deleteRS(t, args)
	case "pod":
		s.pod(t, args)
	case "gone":
		s.remove(mustFind(t, s.pods, args[0]))
	case "deliver", "quiet-deliver":
		s.deliverCommand(t, words[0], args)
	case "sync":
		s.sync(args[0])
	case "wait":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			t.Fatal(err)
		}
		s.clock.SetTime(s.clock.Now().Add(d))
	case "quota":
		s.quota = atoi(t, args[0])
	case "break":
		s.breakCommand(args)
	case "meanwhile":
		s.meanwhile = resource(args)
	default:
		t.Fatalf("unknown command %q", words[0])
	}
}

func (s *script) breakCommand(args []string) {
	call, text := args[0]+" "+args[1], strings.Join(args[2:], " ")
	switch text {
	case "":
		delete(s.broken, call)
	case "-terminating":
		err := apierrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("namespace is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		s.broken[call] = err
	default:
		s.broken[call] = errors.New(text)
	}
}

func (s *script) deliverCommand(t *testing.T, word string, args []string) {
	n := len(s.pending)
	if len(args) > 1 {
		n = atoi(t, args[1])
	}
	before := s.out.String()
	s.deliver(resource(args), n)
	if word == "quiet-deliver" {
		s.out.Reset()
		s.out.WriteString(before)
	}
}

func resource(args []string) string {
	switch {
	case len(args) == 0:
		return ""
	case args[0] == "pods":
		return podsResource
	}
	return replicaSetsResource
}

func (s *script) rs(t *testing.T, args []string) {
	was, ok := find(s.sets, args[0])
	rs := was.DeepCopy()
	if !ok {
		s.made++
		rs = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: args[0], UID: types.UID(fmt.Sprintf("uid-%s-%d", args[0], s.made))}}
		setLabels(rs, map[string]string{"app": "web"})
	}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "replicas":
			rs.Spec.Replicas = ptr.To(int32(atoi(t, value)))
		case "minReady":
			rs.Spec.MinReadySeconds = int32(atoi(t, value))
		case "owner":
			rs.OwnerReferences = []metav1.OwnerReference{ownedBy("Deployment", value)}
		case "labels":
			setLabels(rs, pairs(value))
		case "match":
			rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: pairs(value)}
		case "match!":
			rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"not a key": ""}}
		default:
			t.Fatalf("unknown field %q", key)
		}
	}
	rs.Generation++
	s.put(rs)
}

func setLabels(rs *appsv1.ReplicaSet, labels map[string]string) {
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	rs.Spec.Template.Labels = labels
}

func ownedBy(kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
}

func (s *script) deleteRS(t *testing.T, args []string) {
	rs := mustFind(t, s.sets, args[0])
	if len(args) == 1 {
		s.remove(rs)
		return
	}
	going := rs.DeepCopy()
	going.DeletionTimestamp = ptr.To(metav1.NewTime(s.clock.Now()))
	going.Generation++
	s.put(going)
}

func (s *script) pod(t *testing.T, args []string) {
	was, ok := find(s.pods, args[0])
	pod := was.DeepCopy()
	if !ok {
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: args[0], UID: types.UID("uid-" + args[0]), CreationTimestamp: s.now()}}
		pod.Status.Phase = corev1.PodPending
	}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "node":
			pod.Spec.NodeName, pod.Status.Phase = value, corev1.PodRunning
		case "phase":
			pod.Status.Phase = corev1.PodPhase(value)
		case "labels":
			pod.Labels = pairs(value)
		case "ready":
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: s.now()}}
		case "notready":
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: s.now()}}
		case "owner":
			pod.OwnerReferences = s.owners(value)
		case "going":
			pod.DeletionTimestamp = ptr.To(s.now())
		default:
			t.Fatalf("unknown field %q", key)
		}
	}
	s.put(pod)
}

// owners is a controller reference to a ReplicaSet, with a wrong UID when there
// is none of that name; "" is no owner and Kind/NAME is of another kind.
func (s *script) owners(name string) []metav1.OwnerReference {
	if name == "" {
		return nil
	}
	if kind, name, ok := strings.Cut(name, "/"); ok {
		return []metav1.OwnerReference{ownedBy(kind, name)}
	}
	ref := ownedBy("ReplicaSet", name)
	if rs, ok := find(s.sets, name); ok {
		ref.UID = rs.UID
	}
	return []metav1.OwnerReference{ref}
}

// now is the time as the server stores it.
func (s *script) now() metav1.Time { return metav1.NewTime(s.clock.Now().Truncate(time.Second)) }

func mustFind[T metav1.Object](t *testing.T, list []T, name string) T {
	t.Helper()
	o, ok := find(list, name)
	if !ok {
		t.Fatalf("%s is not there", name)
	}
	return o
}

func pairs(s string) map[string]string {
	m := map[string]string{}
	for _, pair := range strings.Split(s, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			m[key] = value
		}
	}
	return m
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A watch that reconnects may show a deletion and a creation as one update.
func TestMadeAnewBetweenTwoDeliveries(t *testing.T) {
	w := newWorld(rollout.LatestVersion)
	old := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: "old"}}
	anew := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: "new"}}
	w.controller.expectations.expectCreations(keyOf(old), 3, w.clock.Now())
	w.controller.writes.wrotePod(keyOf(old), "old", "999")
	w.controller.Observe(w.env(), engine.Change{Verb: engine.Modified, Old: old, New: anew})
	if seen := w.controller.expectations.state(keyOf(old), w.clock.Now()); !seen.ok {
		t.Errorf("the new one expects what the old one did: %+v", seen)
	}
	if w.controller.writes.of[keyOf(old)] != nil {
		t.Error("the new one waits for what the old one wrote")
	}
	if !w.queued[keyOf(anew)] {
		t.Error("not enqueued")
	}
}

func TestSpec(t *testing.T) {
	s := Spec(rollout.LatestVersion)
	if s.Name != "replicaset" || s.Component != "replicaset-controller" || s.Workers != 5 || s.QPS != 20 || s.Burst != 30 {
		t.Errorf("%+v", s)
	}
	if !s.Controller.Retry(errors.New("any"), 1000) {
		t.Error("a ReplicaSet is retried without limit")
	}
}
