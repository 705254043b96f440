package apply

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// control is a server's control plane that does one step at a time, when told.
type control struct {
	ctx    context.Context // of the test
	server *livetest.Server
	client kubernetes.Interface
}

func newControl(t *testing.T, ahead time.Duration) control {
	t.Helper()
	c := control{ctx: t.Context(), server: newServer(t, ahead)}
	config := rest.AddUserAgent(&rest.Config{Host: c.server.URL(), QPS: -1}, "deployment-controller")
	var err error
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c control) deployment() *appsv1.Deployment {
	d, _ := c.server.Get("deployments", "team", "web").(*appsv1.Deployment)
	return d
}

func (c control) sets() []*appsv1.ReplicaSet { return copies[*appsv1.ReplicaSet](c, "replicasets") }

func (c control) pods() []*corev1.Pod { return copies[*corev1.Pod](c, "pods") }

// copies are those of a resource's objects.
func copies[T runtime.Object](c control, resource string) []T {
	var out []T
	c.server.Count(resource, "team", func(obj runtime.Object) bool {
		out = append(out, obj.DeepCopyObject().(T))
		return true
	})
	return out
}

// there are the objects of the server, with their versions.
func (c control) there() []string {
	var out []string
	add := func(obj metav1.Object) { out = append(out, obj.GetName()+"@"+obj.GetResourceVersion()) }
	if d := c.deployment(); d != nil {
		add(d)
	}
	for _, rs := range c.sets() {
		add(rs)
	}
	for _, pod := range c.pods() {
		add(pod)
	}
	slices.Sort(out)
	return out
}

func (c control) setImage(manager, image string) error {
	c.server.Edit(manager, "deployments", "team", "web", func(obj runtime.Object) {
		obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = image
	})
	return nil
}

func (c control) setReplicas(manager, to string) error {
	n, err := strconv.ParseInt(to, 10, 32)
	if err != nil {
		return err
	}
	replicas := int32(n)
	c.server.Edit(manager, "deployments", "team", "web", func(obj runtime.Object) { obj.(*appsv1.Deployment).Spec.Replicas = &replicas })
	return nil
}

// step is what the two controllers do until they have to wait, pass for pass.
func (c control) step() error {
	for range 10 {
		for _, rs := range c.sets() {
			if err := c.fill(rs); err != nil {
				return err
			}
		}
		if moved, err := c.pass(); !moved || err != nil {
			return err
		}
	}
	return fmt.Errorf("no end of it after ten passes")
}

// pass is one of the Deployment controller, by the arithmetic of its own.
func (c control) pass() (moved bool, err error) {
	d := c.deployment()
	sets := rollout.Split(d, c.sets())
	switch {
	case sets.New == nil:
		made, _, err := rollout.NewReplicaSet(d, sets.Old, rollout.NextRevision(sets.Old), rollout.LatestVersion)
		if err == nil {
			_, err = c.client.AppsV1().ReplicaSets("team").Create(c.ctx, made, metav1.CreateOptions{})
		}
		return true, err
	case rollout.IsScalingEvent(d, sets, rollout.LatestVersion):
		return c.size(rollout.PlanScaling(d, sets, rollout.LatestVersion).Steps)
	}
	to, budget, err := rollout.NewReplicaSetSize(d, sets.All(), sets.New)
	if err != nil {
		return false, err
	}
	if moved, err := c.size([]rollout.Step{{ReplicaSet: sets.New, To: to, Budget: budget}}); moved || err != nil {
		return moved, err
	}
	old := rollout.Active(sets.Old)
	if len(old) == 0 {
		return false, nil
	}
	return c.size(rollout.PlanAvailable(old, rollout.Spare(d, sets.New, old)))
}

// size sets the first ReplicaSet that a step moves.
func (c control) size(steps []rollout.Step) (moved bool, err error) {
	d := c.deployment()
	for _, s := range steps {
		if rollout.Size(s.ReplicaSet) == s.To {
			continue
		}
		rs := s.ReplicaSet.DeepCopy()
		rs.Spec.Replicas = &s.To
		rs.Annotations = maps.Clone(rs.Annotations)
		if rs.Annotations == nil {
			rs.Annotations = map[string]string{}
		}
		rs.Annotations["deployment.kubernetes.io/desired-replicas"] = fmt.Sprint(*d.Spec.Replicas)
		rs.Annotations["deployment.kubernetes.io/max-replicas"] = fmt.Sprint(*d.Spec.Replicas + rollout.MaxSurge(d))
		_, err := c.client.AppsV1().ReplicaSets("team").Update(c.ctx, rs, metav1.UpdateOptions{})
		return true, err
	}
	return false, nil
}

// fill makes or deletes the pods of a ReplicaSet and publishes their number;
// pods are bound, and gone, at once.
func (c control) fill(rs *appsv1.ReplicaSet) error {
	var own []*corev1.Pod
	for _, pod := range c.pods() {
		if metav1.IsControlledBy(pod, rs) {
			own = append(own, pod)
		}
	}
	for n := len(own); n < int(rollout.Size(rs)); n++ {
		if err := c.create(rs); err != nil {
			return err
		}
	}
	for n := len(own) - 1; n >= int(rollout.Size(rs)); n-- {
		if err := c.client.CoreV1().Pods("team").Delete(c.ctx, own[n].Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		c.server.Remove("pods", "team", own[n].Name)
	}
	return c.publish(rs.Name)
}

func (c control) create(rs *appsv1.ReplicaSet) error {
	pod := &corev1.Pod{Spec: rs.Spec.Template.Spec}
	pod.Labels, pod.GenerateName = rs.Spec.Template.Labels, rs.Name+"-"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	made, err := c.client.CoreV1().Pods("team").Create(c.ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.server.Edit("kube-scheduler", "pods", "team", made.Name, func(obj runtime.Object) { obj.(*corev1.Pod).Spec.NodeName = livetest.NodeName(0) })
	return nil
}

// publish writes the statuses of a ReplicaSet and of its Deployment.
func (c control) publish(set string) error {
	rs, err := c.client.AppsV1().ReplicaSets("team").Get(c.ctx, set, metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation}
	for _, pod := range c.pods() {
		if metav1.IsControlledBy(pod, rs) {
			status.Replicas++
			if rollout.IsPodReady(pod) {
				status.ReadyReplicas++
				status.AvailableReplicas++
			}
		}
	}
	if rollout.ReplicaSetStatusChanged(rs, status) {
		rs.Status = status
		if _, err := c.client.AppsV1().ReplicaSets("team").UpdateStatus(c.ctx, rs, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	d := c.deployment()
	was := d.Status
	d.Status = rollout.DeploymentStatus(d, rollout.Split(d, c.sets()), rollout.LatestVersion, time.Now())
	d.Status.Conditions = was.Conditions
	if !reflect.DeepEqual(was, d.Status) {
		_, err = c.client.AppsV1().Deployments("team").UpdateStatus(c.ctx, d, metav1.UpdateOptions{})
	}
	return err
}

// ready makes all pods ready that are not.
func (c control) ready() error {
	for _, pod := range c.pods() {
		if rollout.IsPodReady(pod) {
			continue
		}
		c.server.Edit("kubelet", "pods", "team", pod.Name, func(obj runtime.Object) {
			pod := obj.(*corev1.Pod)
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.server.Now()),
			})
		})
	}
	return nil
}

// collect is the garbage collector, after the Deployment was deleted.
func (c control) collect() {
	for _, rs := range c.sets() {
		c.server.Remove("replicasets", "team", rs.Name)
	}
	for _, pod := range c.pods() {
		c.server.Remove("pods", "team", pod.Name)
	}
}

// touch changes something in an object of each kind that tells nothing.
func (c control) touch() {
	for _, at := range []struct{ resource, name string }{{"deployments", "web"}, {"replicasets", "web-6d"}, {"pods", "web-6d-0000"}} {
		c.server.Edit("kube-controller-manager", at.resource, "team", at.name, func(obj runtime.Object) {
			m := obj.(metav1.Object)
			m.SetFinalizers(append(m.GetFinalizers(), "example.com/touched"))
		})
	}
}
