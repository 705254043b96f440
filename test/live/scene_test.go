package live

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// integration is one of the tests that hold the controllers against a real API
// server, after upstream's integration tests.
type integration struct {
	name string // its namespace
	run  func(*scene)
	// older: run too as the last release without terminatingReplicas, where
	// upstream's test turns the feature gate off.
	older bool
}

const withoutTerminating rollout.Version = 34

// TestIntegration checks what upstream's integration tests check and its
// end-to-end suite does not. docs/upstream-map.md tells which stands for which.
func TestIntegration(t *testing.T) {
	p := startPlane(t, "")
	for _, c := range slices.Concat(ofDeployments, ofReplicaSets) {
		c.start(t, p, c.name, rollout.LatestVersion)
		if c.older {
			c.start(t, p, c.name+"-older", withoutTerminating)
		}
	}
}

func (c integration) start(t *testing.T, p *plane, name string, v rollout.Version) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		p.namespace(t, name)
		c.run(&scene{T: t, plane: p, namespace: name, version: v})
	})
}

// scene is a namespace, mostly with one Deployment called web, in which a test
// makes pods ready itself.
type scene struct {
	*testing.T
	*plane
	namespace string
	version   rollout.Version
}

// startControllers runs them in this process for the scene's namespace.
func (s *scene) startControllers() {
	s.Helper()
	host, err := live.Start(s.Context(), s.config, live.Options{Namespace: s.namespace}, deployment.Spec(s.version), replicaset.Spec(s.version))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := host.Stop(); err != nil {
			s.Errorf("the controllers ended with %v", err)
		}
	})
	<-host.Ready()
}

// create makes the Deployment web, which change may alter, and starts the controllers.
func (s *scene) create(replicas int32, change func(*appsv1.Deployment)) *appsv1.Deployment {
	s.Helper()
	d := web("web", replicas)
	change(d)
	d, err := s.client.AppsV1().Deployments(s.namespace).Create(s.Context(), d, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.startControllers()
	return d
}

func asItIs(*appsv1.Deployment) {}

func (s *scene) deployment(name string) *appsv1.Deployment {
	s.Helper()
	d, err := s.client.AppsV1().Deployments(s.namespace).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return d
}

// update changes a Deployment and waits until the controller has seen it.
func (s *scene) update(name string, change func(*appsv1.Deployment)) {
	s.Helper()
	var d *appsv1.Deployment
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		d = s.deployment(name)
		change(d)
		d, err = s.client.AppsV1().Deployments(s.namespace).Update(s.Context(), d, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	s.await(fmt.Sprintf("generation %d is observed", d.Generation), func() (bool, string) {
		observed := s.deployment(name).Status.ObservedGeneration
		return observed >= d.Generation, fmt.Sprint(observed)
	})
}

func image(to string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = to }
}

func scale(to int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &to }
}

// newSet is the ReplicaSet of a Deployment's template, nil when there is none.
func (s *scene) newSet(name string) *appsv1.ReplicaSet {
	s.Helper()
	d := s.deployment(name)
	var owned []*appsv1.ReplicaSet
	for _, rs := range s.sets() {
		if metav1.IsControlledBy(rs, d) {
			owned = append(owned, rs)
		}
	}
	return rollout.FindNewReplicaSet(d, owned)
}

// sets are the namespace's, oldest revision first.
func (s *scene) sets() []*appsv1.ReplicaSet {
	s.Helper()
	list, err := s.client.AppsV1().ReplicaSets(s.namespace).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	var out []*appsv1.ReplicaSet
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	slices.SortFunc(out, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revision(a), revision(b)) })
	return out
}

func revision(obj metav1.Object) int64 {
	n, _ := rollout.Revision(obj) // 0 without one
	return n
}

func (s *scene) set(name string) *appsv1.ReplicaSet {
	s.Helper()
	rs, err := s.client.AppsV1().ReplicaSets(s.namespace).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return rs
}

func (s *scene) updateSet(name string, change func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	s.Helper()
	var rs *appsv1.ReplicaSet
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		rs = s.set(name)
		change(rs)
		rs, err = s.client.AppsV1().ReplicaSets(s.namespace).Update(s.Context(), rs, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return rs
}

// pods are those with a label app, of a controller if one is named, terminating ones included.
func (s *scene) pods(controller string) []corev1.Pod {
	s.Helper()
	list, err := s.client.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "app"})
	if err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		return controller != "" && (owner == nil || owner.Name != controller)
	})
}

func (s *scene) pod(name string) *corev1.Pod {
	s.Helper()
	pod, err := s.client.CoreV1().Pods(s.namespace).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return pod
}

func (s *scene) updatePod(name string, change func(*corev1.Pod)) {
	s.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod := s.pod(name)
		change(pod)
		_, err := s.client.CoreV1().Pods(s.namespace).Update(s.Context(), pod, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) patchPodStatus(name string, patch []byte) {
	s.Helper()
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(s.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		s.Fatal(err)
	}
}

// makeReady makes those pods ready that run on.
func (s *scene) makeReady(pods []corev1.Pod) {
	for i := range pods {
		if pod := &pods[i]; pod.DeletionTimestamp == nil && !rollout.IsPodReady(pod) {
			s.plane.makeReady(s.T, pod)
		}
	}
}

// remove deletes up to n of a ReplicaSet's pods, those that terminate already or those that do not.
func (s *scene) remove(set string, n int, terminating bool, grace int64) {
	s.Helper()
	for _, pod := range s.pods(set) {
		if n == 0 || (pod.DeletionTimestamp != nil) != terminating {
			continue
		}
		n--
		if err := s.client.CoreV1().Pods(s.namespace).Delete(s.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
			s.Fatal(err)
		}
	}
}

const all = -1 // pods

func (s *scene) await(what string, is func() (bool, string)) {
	s.Helper()
	eventually(s.T, 2*time.Minute, what, is)
}

// complete makes pods ready until a Deployment's rollout is over.
func (s *scene) complete(name string) {
	s.Helper()
	d := s.deployment(name)
	s.await("the rollout is complete", func() (bool, string) {
		s.makeReady(s.pods(""))
		return s.rolledOut(s.T, d)
	})
}

// counts waits until the status of the Deployment web has these numbers.
func (s *scene) counts(replicas, updated, ready, available, unavailable int32, terminating int32) {
	s.Helper()
	want := appsv1.DeploymentStatus{Replicas: replicas, UpdatedReplicas: updated, ReadyReplicas: ready,
		AvailableReplicas: available, UnavailableReplicas: unavailable, TerminatingReplicas: s.terminating(terminating)}
	s.await(numbers(want), func() (bool, string) {
		got := numbers(s.deployment("web").Status)
		return got == numbers(want), got
	})
}

// terminating is what a status says of so many terminating pods in the scene's release.
func (s *scene) terminating(n int32) *int32 {
	if !s.version.TerminatingReplicas() {
		return nil
	}
	return &n
}

func numbers(s appsv1.DeploymentStatus) string {
	return fmt.Sprintf("%d replicas, %d updated, %d ready, %d available, %d unavailable, %d terminating",
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas, ptr.Deref(s.TerminatingReplicas, -1))
}

// condition waits until a condition of the Deployment web has a reason.
func (s *scene) condition(kind appsv1.DeploymentConditionType, reason string) {
	s.Helper()
	s.await(string(kind)+" because of "+reason, func() (bool, string) {
		c := rollout.Condition(s.deployment("web").Status.Conditions, kind)
		return c != nil && c.Reason == reason, fmt.Sprintf("%+v", c)
	})
}

// stable waits until a ReplicaSet has as many pods as it should, by its own status.
func (s *scene) stable(name string) {
	s.Helper()
	s.await(name+" is stable", func() (bool, string) {
		rs := s.set(name)
		return rs.Status.ObservedGeneration >= rs.Generation && rs.Status.Replicas == *rs.Spec.Replicas,
			fmt.Sprintf("%d of %d", rs.Status.Replicas, *rs.Spec.Replicas)
	})
}

// sizes waits until the ReplicaSets have these sizes, oldest revision first.
func (s *scene) sizes(want ...int32) {
	s.Helper()
	s.await(fmt.Sprintf("sizes %d", want), func() (bool, string) {
		var got []int32
		for _, rs := range s.sets() {
			got = append(got, *rs.Spec.Replicas)
		}
		return slices.Equal(got, want), fmt.Sprint(got)
	})
}

// equal is a check of what must hold now.
func equal[T comparable](s *scene, what string, got, want T) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %v, want %v", what, got, want)
	}
}

// controllerOf names an object's controller, "" for an orphan.
func controllerOf(obj metav1.Object) string {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		return owner.Name
	}
	return ""
}
