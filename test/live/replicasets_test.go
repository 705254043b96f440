package live

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var ofReplicaSets = []integration{
	{name: "pods-adopted-at-first", run: adoptedAtFirst},
	{name: "pod-adopted", run: podAdopted},
	{name: "pod-relabelled", run: podRelabelled},
	{name: "set-scaled", run: setScaled},
	{name: "deleting-and-failed-pods", run: deletingAndFailed},
	{name: "deletion-cost", run: deletionCost},
	{name: "overlapping-sets", run: overlappingSets},
	{name: "ready-and-available", run: readyAndAvailable},
	{name: "too-many-pods", run: tooMany},
	{name: "fully-labelled", run: fullyLabelled},
	{name: "terminating-of-a-set", run: terminatingOfSet, older: true},
}

// createSet makes a ReplicaSet of pods with a label app.
func (s *scene) createSet(name, app string, replicas int32, change func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	s.Helper()
	d := web(app, replicas)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
	change(rs)
	rs, err := s.client.AppsV1().ReplicaSets(s.namespace).Create(s.Context(), rs, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return rs
}

func plain(*appsv1.ReplicaSet) {}

// runSet makes a ReplicaSet, starts the controllers and returns once it has its pods.
func (s *scene) runSet(replicas int32, change func(*appsv1.ReplicaSet)) (*appsv1.ReplicaSet, []corev1.Pod) {
	s.Helper()
	rs := s.createSet("set", "web", replicas, change)
	s.startControllers()
	s.stable("set")
	pods := s.pods("set")
	if len(pods) != int(replicas) {
		s.Fatalf("%d pods, want %d", len(pods), replicas)
	}
	return rs, pods
}

// createPod makes a pod with a label app.
func (s *scene) createPod(name, app string, owners ...metav1.OwnerReference) {
	s.Helper()
	template := web(app, 1).Spec.Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels, OwnerReferences: owners}, Spec: template.Spec}
	if _, err := s.client.CoreV1().Pods(s.namespace).Create(s.Context(), pod, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// owner refers to an object; controller nil leaves the field out.
func owner(kind, name string, uid types.UID, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: controller}
}

// Pods that are there when the controllers start: each set has one, and wants one.
func adoptedAtFirst(s *scene) {
	type row struct {
		set   string
		first func(uid types.UID) []metav1.OwnerReference
		want  func(uid types.UID) []metav1.OwnerReference
	}
	adopted := func(set string) func(types.UID) []metav1.OwnerReference {
		return func(uid types.UID) []metav1.OwnerReference {
			ref := owner("ReplicaSet", set, uid, ptr.To(true))
			ref.BlockOwnerDeletion = ptr.To(true)
			return []metav1.OwnerReference{ref}
		}
	}
	kept := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{owner("ReplicaSet", "kept", uid, ptr.To(true))}
	}
	others := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{owner("ReplicaSet", "gone", "1", ptr.To(true)), owner("ReplicaSet", "others", uid, nil)}
	}
	rows := []row{
		{"owner", func(uid types.UID) []metav1.OwnerReference {
			return []metav1.OwnerReference{owner("ReplicaSet", "owner", uid, nil)}
		}, adopted("owner")},
		{"orphan", func(types.UID) []metav1.OwnerReference { return nil }, adopted("orphan")},
		{"kept", kept, kept},
		{"others", others, others},
	}
	uids := map[string]types.UID{}
	for _, r := range rows { // each selects its own pod
		rs := s.createSet(r.set, r.set, 1, plain)
		uids[r.set] = rs.UID
		s.createPod(r.set, r.set, r.first(rs.UID)...)
	}
	s.startControllers()
	for _, r := range rows {
		s.stable(r.set)
		want := r.want(uids[r.set])
		s.await("the owners of "+r.set, func() (bool, string) {
			got := s.pod(r.set).OwnerReferences
			return slices.EqualFunc(got, want, sameOwner), fmt.Sprint(got)
		})
	}
	equal(s, "pods of the set whose pod is another's", len(s.pods("others")), 1)
}

func sameOwner(a, b metav1.OwnerReference) bool { return a.String() == b.String() }

func podAdopted(s *scene) {
	rs, pods := s.runSet(1, plain)
	for _, c := range []struct {
		first metav1.OwnerReference
		want  int // owners then
	}{
		{owner("StatefulSet", "set", "3e8c", ptr.To(false)), 2},
		{owner("ReplicaSet", "set", rs.UID, ptr.To(false)), 1},
	} {
		name := pods[0].Name
		s.updatePod(name, func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{c.first} })
		s.await("the pod has its controller again", func() (bool, string) {
			pod := s.pod(name)
			return metav1.IsControlledBy(pod, rs) && len(pod.OwnerReferences) == c.want, fmt.Sprint(pod.OwnerReferences)
		})
		s.stable("set")
	}
}

// A pod whose labels no longer match is let go and replaced; when they match
// again it is taken back, and one of the two goes.
func podRelabelled(s *scene) {
	rs, pods := s.runSet(1, plain)
	name := pods[0].Name
	s.updatePod(name, func(pod *corev1.Pod) { pod.Labels = map[string]string{"left": "alone"} })
	s.await("the pod is let go", func() (bool, string) {
		pod := s.pod(name)
		return controllerOf(pod) == "", fmt.Sprint(pod.OwnerReferences)
	})
	s.await("the pod is replaced", func() (bool, string) { return len(s.pods("set")) == 1, "not" })
	s.updatePod(name, func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "web"} })
	s.await("one pod is left, the set's", func() (bool, string) {
		left := s.pods("")
		return len(left) == 1 && metav1.IsControlledBy(&left[0], rs), fmt.Sprintf("%d pods", len(left))
	})
}

func setScaled(s *scene) {
	s.runSet(2, plain)
	for _, to := range []int32{3, 0, 2} {
		s.updateSet("set", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &to })
		s.stable("set")
		s.await(fmt.Sprintf("%d pods", to), func() (bool, string) {
			n := len(s.pods("set"))
			return n == int(to), fmt.Sprint(n)
		})
	}
	was := s.set("set").Generation
	now := s.updateSet("set", func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Annotations = map[string]string{"note": "changed"} })
	if now.Generation == was {
		s.Fatal("a changed template is no new generation")
	}
	s.stable("set") // observes it
}

// Pods that are being deleted or have failed are replaced, and stay.
func deletingAndFailed(s *scene) {
	_, pods := s.runSet(2, plain)
	deleting, failing := pods[0].Name, pods[1].Name
	s.updatePod(deleting, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/stay"} })
	if err := s.client.CoreV1().Pods(s.namespace).Delete(s.Context(), deleting, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	s.patchPodStatus(failing, []byte(`{"status":{"phase":"Failed"}}`))
	var names []string
	s.await("four pods", func() (bool, string) {
		names = nil
		for _, pod := range s.pods("set") {
			names = append(names, pod.Name)
		}
		return len(names) == 4, fmt.Sprint(names)
	})
	if !slices.Contains(names, deleting) || !slices.Contains(names, failing) {
		s.Errorf("pods %q, want %s and %s among them", names, deleting, failing)
	}
}

// What a pod costs counts more than its restarts.
func deletionCost(s *scene) {
	s.startControllers()
	for _, c := range []struct {
		set   string
		costs [2]string
		stays int
	}{
		{"different", [2]string{"1000", "100"}, 0},
		{"equal", [2]string{"100", "100"}, 1},
		{"none", [2]string{}, 1},
	} {
		s.createSet(c.set, c.set, 2, plain)
		s.stable(c.set)
		pods := s.pods(c.set)
		for i, restarts := range []int{5, 0} {
			if c.costs[i] != "" {
				s.updatePod(pods[i].Name, func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.PodDeletionCost: c.costs[i]} })
			}
			s.patchPodStatus(pods[i].Name, fmt.Appendf(nil, `{"status":{"containerStatuses":[{"name":"web","image":"web:1","imageID":"","ready":false,"restartCount":%d}]}}`, restarts))
		}
		time.Sleep(time.Second) // let the controller's cache have it
		s.updateSet(c.set, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = ptr.To[int32](1) })
		s.await("one pod is left", func() (bool, string) {
			n := len(s.pods(c.set))
			return n == 1, fmt.Sprint(n)
		})
		equal(s, "the pod that stays of "+c.set, s.pods(c.set)[0].Name, pods[c.stays].Name)
	}
}

func overlappingSets(s *scene) {
	s.startControllers()
	for i, name := range []string{"one", "two"} {
		s.createSet(name, "web", int32(i+1), plain)
		s.stable(name)
	}
	equal(s, "pods of the first", len(s.pods("one")), 1)
	equal(s, "pods of the second", len(s.pods("two")), 2)
	equal(s, "pods", len(s.pods("")), 3)
	s.stable("one")
}

func readyAndAvailable(s *scene) {
	_, pods := s.runSet(3, func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 3600 })
	equal(s, "available at first", s.set("set").Status.AvailableReplicas, 0)
	for i, c := range []struct {
		ready corev1.ConditionStatus
		ago   time.Duration
	}{{corev1.ConditionFalse, 0}, {corev1.ConditionTrue, 0}, {corev1.ConditionTrue, 2 * time.Hour}} {
		s.patchPodStatus(pods[i].Name, readiness(pods[i].UID, c.ready, time.Now().Add(-c.ago)))
	}
	s.await("3 pods, 2 ready, 1 available", func() (bool, string) {
		now := s.set("set").Status
		return now.Replicas == 3 && now.ReadyReplicas == 2 && now.AvailableReplicas == 1, fmt.Sprintf("%+v", now)
	})
}

// Three pods are there when a set that wants two comes: one goes.
func tooMany(s *scene) {
	for _, name := range []string{"a", "b", "c"} {
		s.createPod(name, "web")
	}
	s.createSet("set", "web", 2, plain)
	s.startControllers()
	s.await("two pods of the set are left", func() (bool, string) {
		pods := s.pods("")
		return len(pods) == 2 && len(s.pods("set")) == 2, fmt.Sprintf("%d pods", len(pods))
	})
	s.stable("set")
	for _, pod := range s.pods("set") {
		if len(pod.Name) != 1 {
			s.Errorf("the set made a pod of its own: %s", pod.Name)
		}
	}
}

func fullyLabelled(s *scene) {
	_, pods := s.runSet(2, plain)
	labels := map[string]string{"app": "web", "tier": "front"}
	s.updateSet("set", func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Labels = labels })
	s.updatePod(pods[0].Name, func(pod *corev1.Pod) { pod.Labels = labels })
	s.await("2 pods, 1 with all labels", func() (bool, string) {
		now := s.set("set").Status
		return now.Replicas == 2 && now.FullyLabeledReplicas == 1, fmt.Sprintf("%+v", now)
	})
}

func terminatingOfSet(s *scene) {
	s.runSet(5, func(rs *appsv1.ReplicaSet) {
		d := web("web", 1)
		lingering(d)
		rs.Spec.Template = d.Spec.Template
	})
	s.makeReady(s.pods("set"))
	for _, c := range []struct {
		delete, remove int
		want           int32
	}{{0, 0, 0}, {2, 0, 2}, {0, 1, 1}, {1, 0, 2}} {
		s.remove("set", c.delete, false, 300)
		s.remove("set", c.remove, true, 0)
		want := numbersOfSet(5, s.terminating(c.want))
		s.await(want, func() (bool, string) {
			now := s.set("set").Status
			got := numbersOfSet(now.Replicas, now.TerminatingReplicas)
			return got == want, got
		})
	}
	s.await("five pods and two that terminate", func() (bool, string) {
		n := len(s.pods("set"))
		return n == 7, fmt.Sprint(n)
	})
}

func numbersOfSet(replicas int32, terminating *int32) string {
	return fmt.Sprintf("%d replicas, %d terminating", replicas, ptr.Deref(terminating, -1))
}
