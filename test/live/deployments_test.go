package live

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

var ofDeployments = []integration{
	{name: "new", run: newDeployment},
	{name: "paused", run: paused},
	{name: "scaled-while-paused", run: scaledWhilePaused},
	{name: "hash-collision", run: hashCollision},
	{name: "failed", run: failed},
	{name: "overlapping", run: overlapping},
	{name: "scaled-with-a-rollout", run: scaledWithRollout},
	{name: "scaled-with-recreate", run: scaledWithRecreate},
	{name: "available", run: available},
	{name: "set-adopted", run: setAdopted},
	{name: "set-relabelled", run: setRelabelled},
	{name: "terminating", run: terminating, older: true},
	{name: "recreate", run: recreate, older: true},
	{name: "proportional", run: proportional, older: true},
}

// The ReplicaSet gets the Deployment's annotations but kubectl's; set, selector,
// template and pods have one hash, which ends the set's name.
func newDeployment(s *scene) {
	s.create(5, func(d *appsv1.Deployment) {
		d.Spec.MinReadySeconds = 1
		d.Annotations = map[string]string{"team": "shop", corev1.LastAppliedConfigAnnotation: "{}"}
	})
	s.complete("web")
	d, rs := s.deployment("web"), s.newSet("web")
	equal(s, "revision of the Deployment", revision(d), 1)
	equal(s, "revision of the set", revision(rs), 1)
	equal(s, "annotation copied", rs.Annotations["team"], "shop")
	if _, copied := rs.Annotations[corev1.LastAppliedConfigAnnotation]; copied {
		s.Error("kubectl's annotation was copied")
	}
	const label = appsv1.DefaultDeploymentUniqueLabelKey
	hash := rs.Labels[label]
	if hash == "" || !strings.HasSuffix(rs.Name, "-"+hash) {
		s.Errorf("the hash %q does not end the name %s", hash, rs.Name)
	}
	equal(s, "hash in the selector", rs.Spec.Selector.MatchLabels[label], hash)
	equal(s, "hash in the template", rs.Spec.Template.Labels[label], hash)
	pods := s.pods(rs.Name)
	equal(s, "pods", len(pods), 5)
	for i := range pods {
		equal(s, "hash of "+pods[i].Name, pods[i].Labels[label], hash)
	}
}

func pause(d *appsv1.Deployment)  { d.Spec.Paused = true }
func resume(d *appsv1.Deployment) { d.Spec.Paused = false }

func paused(s *scene) {
	s.create(1, pause)
	s.condition(appsv1.DeploymentProgressing, rollout.ReasonDeploymentPaused)
	equal(s, "sets of a Deployment made paused", len(s.sets()), 0)
	s.update("web", resume)
	s.complete("web")
	s.update("web", pause)
	s.update("web", image("web:2"))
	s.condition(appsv1.DeploymentProgressing, rollout.ReasonDeploymentPaused)
	if s.newSet("web") != nil {
		s.Error("a paused Deployment has a set for its changed template")
	}
	sets := s.sets()
	if len(sets) != 1 || sets[0].Spec.Template.Spec.Containers[0].Image != "web:1" {
		s.Errorf("%d sets, want the old one with its old template", len(sets))
	}
}

func scaledWhilePaused(s *scene) {
	s.create(1, asItIs)
	s.complete("web")
	s.update("web", pause)
	s.update("web", scale(10))
	equal(s, "size once the scaling is observed", *s.newSet("web").Spec.Replicas, 10)
	s.complete("web")
}

// A set in the way, of the same name and another template, moves the hash on.
func hashCollision(s *scene) {
	s.create(1, asItIs)
	s.complete("web")
	s.updateSet(s.newSet("web").Name, func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5) })
	s.await("the collision count is 1", func() (bool, string) {
		n := s.deployment("web").Status.CollisionCount
		return ptr.Deref(n, 0) == 1, fmt.Sprint(ptr.Deref(n, 0))
	})
	s.await("revision 2", func() (bool, string) {
		d := s.deployment("web")
		return revision(d) == 2 && s.newSet("web") != nil, fmt.Sprint(revision(d))
	})
}

func failed(s *scene) {
	s.create(1, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To[int32](3) })
	s.condition(appsv1.DeploymentProgressing, rollout.ReasonProgressDeadlineExceeded)
	s.complete("web")
	s.condition(appsv1.DeploymentProgressing, rollout.ReasonNewReplicaSetAvailable)
}

// Two with the same selector keep to their own sets.
func overlapping(s *scene) {
	s.create(1, asItIs)
	s.complete("web")
	other := web("other", 1)
	other.Spec.Selector, other.Spec.Template.Labels = web("web", 1).Spec.Selector, web("web", 1).Spec.Template.Labels
	if _, err := s.client.AppsV1().Deployments(s.namespace).Create(s.Context(), other, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.complete("other")
	if s.newSet("web").UID == s.newSet("other").UID {
		s.Fatal("both have one set")
	}
	s.update("web", scale(2))
	s.complete("web")
	equal(s, "size of the first's set", *s.newSet("web").Spec.Replicas, 2)
	equal(s, "size of the second's set", *s.newSet("other").Spec.Replicas, 1)
}

// Size and template change at once, up and down, each in the midst of a rollout.
func scaledWithRollout(s *scene) {
	s.create(10, func(d *appsv1.Deployment) { strategy(d, 3, 2) })
	s.complete("web")
	s.update("web", image("web:2"))
	s.sizes(8, 5)
	s.counts(13, 5, 8, 8, 5, 0)
	for i, c := range []struct {
		to      int32
		stalled []int32 // sizes with a template whose pods never get ready, on top of this
	}{{20, []int32{0, 0, 18, 5}}, {5, nil}} {
		s.update("web", func(d *appsv1.Deployment) {
			scale(c.to)(d)
			image(fmt.Sprintf("web:%d", 3+2*i))(d)
		})
		s.complete("web")
		for _, rs := range s.sets()[2*i:] { // those that had pods then
			equal(s, "desired size noted on "+rs.Name, rs.Annotations[rollout.DesiredReplicasAnnotation], fmt.Sprint(c.to))
		}
		if c.stalled != nil {
			s.update("web", image("web:4"))
			s.sizes(c.stalled...)
			s.counts(23, 5, 18, 18, 5, 0)
		}
	}
}

func strategy(d *appsv1.Deployment, surge, unavailable int32) {
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
		MaxSurge: ptr.To(intstr.FromInt32(surge)), MaxUnavailable: ptr.To(intstr.FromInt32(unavailable)),
	}
}

func scaledWithRecreate(s *scene) {
	s.create(1, func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType })
	s.sizes(1)
	for _, to := range []int32{2, 0, 1} {
		s.update("web", scale(to))
		s.sizes(to)
	}
	s.update("web", func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = ptr.To[int32](4) }) // is observed
}

func available(s *scene) {
	s.create(10, func(d *appsv1.Deployment) {
		d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = 3600, ptr.To[int32](7200)
	})
	s.counts(10, 10, 0, 0, 10, 0)
	s.condition(appsv1.DeploymentAvailable, rollout.ReasonMinimumReplicasUnavailable)
	s.makeReady(s.pods(""))
	s.counts(10, 10, 10, 0, 10, 0)
	s.condition(appsv1.DeploymentAvailable, rollout.ReasonMinimumReplicasUnavailable)
	s.update("web", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 1 })
	s.condition(appsv1.DeploymentAvailable, rollout.ReasonMinimumReplicasAvailable)
	s.counts(10, 10, 10, 10, 0, 0)
}

// A set without a controller is made the Deployment's, whoever else owns it.
func setAdopted(s *scene) {
	d := s.create(1, asItIs)
	s.complete("web")
	name := s.newSet("web").Name
	for _, c := range []struct {
		owner metav1.OwnerReference
		want  int // owners then
	}{
		{metav1.OwnerReference{UID: "3e8c", APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", Controller: ptr.To(false)}, 2},
		{metav1.OwnerReference{UID: d.UID, APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: ptr.To(false)}, 1},
	} {
		s.updateSet(name, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = []metav1.OwnerReference{c.owner} })
		s.await("the set has its controller again", func() (bool, string) {
			rs := s.set(name)
			return metav1.IsControlledBy(rs, d) && len(rs.OwnerReferences) == c.want, fmt.Sprint(rs.OwnerReferences)
		})
	}
}

// A set whose labels no longer match is let go and replaced, and taken back when they do.
func setRelabelled(s *scene) {
	d := s.create(1, asItIs)
	s.complete("web")
	rs := s.newSet("web")
	labels := rs.Labels
	s.updateSet(rs.Name, func(rs *appsv1.ReplicaSet) { rs.Labels = map[string]string{"left": "alone"} })
	s.await("the set is let go", func() (bool, string) {
		now := s.set(rs.Name)
		return controllerOf(now) == "", fmt.Sprint(now.OwnerReferences)
	})
	s.await("another set is made", func() (bool, string) {
		now := s.newSet("web")
		return now != nil && now.UID != rs.UID, fmt.Sprint(now)
	})
	s.updateSet(rs.Name, func(rs *appsv1.ReplicaSet) { rs.Labels = map[string]string{"app": labels["app"]} })
	s.await("the first set is taken back", func() (bool, string) {
		now := s.set(rs.Name)
		return metav1.IsControlledBy(now, d), fmt.Sprint(now.OwnerReferences)
	})
}

// lingering: pods that are deleted stay for five minutes, or until they are removed.
func lingering(d *appsv1.Deployment) {
	d.Spec.Template.Spec.NodeName = "no-such-node"
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](300)
}

func recreated(d *appsv1.Deployment) {
	lingering(d)
	d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
}

func terminating(s *scene) {
	s.create(6, recreated)
	s.complete("web")
	s.counts(6, 6, 6, 6, 0, 0)
	s.update("web", scale(4))
	s.counts(4, 4, 4, 4, 0, 2)
	s.update("web", scale(3))
	s.counts(3, 3, 3, 3, 0, 3)
}

// Recreate waits for the last old pod before it makes a new set; terminating
// pods of the new one hold nothing up.
func recreate(s *scene) {
	s.create(6, recreated)
	s.complete("web")
	first := s.newSet("web").Name
	s.update("web", image("web:2"))
	s.stable(first)
	s.counts(0, 0, 0, 0, 0, 6)
	if s.newSet("web") != nil {
		s.Error("there is a new set while old pods terminate")
	}
	s.remove(first, all, true, 0)
	s.counts(6, 6, 0, 0, 6, 0)
	second := s.newSet("web").Name
	s.remove(second, 1, false, 300)
	s.counts(6, 6, 0, 0, 6, 1)
	s.update("web", scale(7))
	s.counts(7, 7, 0, 0, 7, 1)
	s.update("web", scale(5))
	s.counts(5, 5, 0, 0, 5, 3)
	s.complete("web")
	s.counts(5, 5, 5, 5, 0, 3)
	s.remove(second, all, true, 0)
	s.counts(5, 5, 5, 5, 0, 0)
}

// Terminating pods count neither for the rollout nor for what scaling gives each set.
func proportional(s *scene) {
	s.create(100, func(d *appsv1.Deployment) {
		lingering(d)
		strategy(d, 20, 0)
	})
	s.complete("web")
	s.remove(s.newSet("web").Name, 15, false, 300)
	s.counts(100, 100, 85, 85, 15, 15)
	s.complete("web")
	s.update("web", image("web:2"))
	s.counts(120, 20, 100, 100, 20, 15)
	s.remove(s.newSet("web").Name, 1, false, 300)
	s.counts(120, 20, 100, 100, 20, 16)
	s.update("web", scale(120))
	s.counts(140, 23, 100, 100, 40, 16)
	s.sizes(117, 23)
	s.noted()
	s.complete("web")
	s.noted()
}

// noted: both sets of a Deployment of 120 and 20 more carry its numbers.
func (s *scene) noted() {
	s.Helper()
	for i, rs := range s.sets() {
		want := map[string]string{rollout.DesiredReplicasAnnotation: "120", rollout.MaxReplicasAnnotation: "140",
			rollout.RevisionAnnotation: fmt.Sprint(i + 1)}
		equal(s, "annotations of "+rs.Name, fmt.Sprint(rs.Annotations), fmt.Sprint(want))
	}
}
