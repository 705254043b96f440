// Package live runs the controllers command against a real control plane whose
// kube-controller-manager lacks the two controllers.
package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// plane is a control plane and what drives it.
type plane struct {
	cluster *cluster
	config  *rest.Config
	client  kubernetes.Interface
	program string // the plugin's binary
}

// startPlane starts an API server with only these of kube-controller-manager's
// controllers behind it.
func startPlane(t *testing.T, controllers string) *plane {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real API server")
	}
	p := &plane{cluster: startCluster(t, "--controllers="+controllers, "--scheduler=false", "--nodes=0")}
	var err error
	if p.config, err = clientcmd.BuildConfigFromFlags("", p.cluster.kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.config.QPS = -1
	if p.client, err = kubernetes.NewForConfig(p.config); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLive(t *testing.T) {
	// An API server that crashes while it deletes a pod leaves it terminating
	// without a node: the pod garbage collector takes those.
	p := startPlane(t, "pod-garbage-collector-controller")
	p.program = build(t, "../..", "./cmd/kubectl-rollout_sim")
	p.kubelet(t)
	t.Run("chaos", p.chaos)
	t.Run("applied", p.applied)
	t.Run("lease", p.lease)
	t.Run("occupied", p.occupied)
	t.Run("others", p.others)
}

// lease: the second engine waits, and acts once the first has ended in good order.
func (p *plane) lease(t *testing.T) {
	p.namespace(t, "lease")
	d := p.deploy(t, "lease", "web", 2)
	first := p.startEngine(t, "-n", d.Namespace)
	p.awaitRolledOut(t, d)
	second := p.startEngine(t, "-n", d.Namespace)
	time.Sleep(3 * time.Second)
	if second.running() {
		t.Error("two engines run at once")
	}
	if code := first.stop(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	eventually(t, time.Minute, "the second runs", func() (bool, string) { return second.running(), second.said() })
	p.setImage(t, d, "web:2")
	p.awaitRolledOut(t, d)
	p.checkEnd(t, []*appsv1.Deployment{d})
	// One for all namespaces would overlap.
	overlapping := p.startEngine(t)
	if code := overlapping.exit(t); code != 1 || !strings.Contains(overlapping.said(), "holds the lease "+d.Namespace+"/"+live.LeaseName) {
		t.Errorf("exit code %d and %q, want 1 and who holds the lease", code, overlapping.said())
	}
	second.stop(t)
}

// occupied: a kube-controller-manager holds its lease.
func (p *plane) occupied(t *testing.T) {
	leases := p.client.CoordinationV1().Leases("kube-system")
	_, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("master-1_42"), LeaseDurationSeconds: ptr.To(int32(60)),
			RenewTime: &metav1.MicroTime{Time: time.Now()}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := leases.Delete(context.WithoutCancel(t.Context()), "kube-controller-manager", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	refused := p.startEngine(t)
	if code := refused.exit(t); code != 1 || !strings.Contains(refused.said(), "error: master-1_42 holds the lease kube-system/kube-controller-manager") ||
		!strings.Contains(refused.said(), "--force") {
		t.Errorf("exit code %d and %q, want 1 and who holds the lease", code, refused.said())
	}
	forced := p.startEngine(t, "--force")
	eventually(t, time.Minute, "a forced one runs", func() (bool, string) { return forced.running(), forced.said() })
	forced.stop(t)
}

// others: another controller publishes what only a Deployment controller does.
func (p *plane) others(t *testing.T) {
	p.namespace(t, "others")
	d := p.deploy(t, "others", "web", 1)
	host, err := live.Start(t.Context(), p.config, live.Options{Namespace: d.Namespace},
		deployment.Spec(rollout.LatestVersion), replicaset.Spec(rollout.LatestVersion))
	if err != nil {
		t.Fatal(err)
	}
	p.awaitRolledOut(t, d)
	_, err = p.client.AppsV1().Deployments(d.Namespace).Patch(t.Context(), d.Name, types.MergePatchType,
		[]byte(`{"status":{"observedGeneration":99}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	var occupied *live.OccupiedError
	if err := host.Wait(); !errors.As(err, &occupied) || !strings.Contains(err.Error(), "generation 99 of deployment others/web") {
		t.Errorf("the host ended with %v, want an OccupiedError about generation 99", err)
	}
}

func (p *plane) namespace(t *testing.T, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := p.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// deploy makes a Deployment whose pods have its name as their label app.
func (p *plane) deploy(t *testing.T, namespace, name string, replicas int32) *appsv1.Deployment {
	t.Helper()
	d, err := p.client.AppsV1().Deployments(namespace).Create(t.Context(), web(name, replicas), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func web(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

func (p *plane) setImage(t *testing.T, d *appsv1.Deployment, image string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, image)
	_, err := p.client.AppsV1().Deployments(d.Namespace).Patch(t.Context(), d.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (p *plane) awaitRolledOut(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	eventually(t, 5*time.Minute, "the rollout is complete", func() (bool, string) { return p.rolledOut(t, d) })
}

func (p *plane) rolledOut(t *testing.T, d *appsv1.Deployment) (bool, string) {
	now, err := p.client.AppsV1().Deployments(d.Namespace).Get(t.Context(), d.Name, metav1.GetOptions{})
	if err != nil {
		return false, err.Error()
	}
	return now.Status.ObservedGeneration >= now.Generation && rollout.Complete(now, now.Status), fmt.Sprintf("%+v", now.Status)
}
