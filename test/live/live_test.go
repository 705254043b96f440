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

// plane is the control plane that all tests here share.
type plane struct {
	config     *rest.Config
	client     kubernetes.Interface
	kubeconfig string
	program    string // the plugin's binary
}

func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	p := &plane{program: build(t, "../..", "./cmd/kubectl-rollout_sim"), kubeconfig: startCluster(t, "--scheduler=false", "--nodes=0")}
	var err error
	if p.config, err = clientcmd.BuildConfigFromFlags("", p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(p.config)
	config.QPS = -1
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	p.kubelet(t)
	t.Run("killed", p.killed)
	t.Run("lease", p.lease)
	t.Run("occupied", p.occupied)
	t.Run("others", p.others)
}

// killed rolls 60 pods while the engine is killed four times, at moments that
// differ; each time the next takes over once the lease has run out.
func (p *plane) killed(t *testing.T) {
	const replicas, surge, least = 60, 15, 45 // 25% of 60
	d := p.deploy(t, "killed", replicas)
	e := p.startEngine(t, "--detail")
	p.awaitRolledOut(t, d)
	w := p.follow(t, d)
	p.setImage(t, d, "web:2")
	printed := ""
	for i, after := range []time.Duration{700, 1900, 300, 2600} {
		eventually(t, time.Minute, "an engine runs", func() (bool, string) { return e.running(), e.said() })
		time.Sleep(after * time.Millisecond)
		e.kill()
		t.Logf("kill %d at %s", i+1, w.state())
		printed += e.printed()
		e = p.startEngine(t, "--detail")
	}
	eventually(t, time.Minute, "the last engine runs", func() (bool, string) { return e.running(), e.said() })
	p.awaitRolledOut(t, d)
	if code := e.stop(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	printed += e.printed()
	w.check(t, replicas+surge, least)
	p.checkPods(t, d, replicas)
	for _, want := range []string{"room: ", "status", "sees MODIFIED"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the trace lacks %q:\n%.2000s", want, printed)
		}
	}
}

// lease: the second engine waits, and acts once the first has ended in good order.
func (p *plane) lease(t *testing.T) {
	d := p.deploy(t, "lease", 2)
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
	p.checkPods(t, d, 2)
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
	d := p.deploy(t, "others", 1)
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

// deploy makes a namespace with a Deployment.
func (p *plane) deploy(t *testing.T, namespace string, replicas int32) *appsv1.Deployment {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := p.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	d, err := p.client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
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
	eventually(t, 3*time.Minute, "the rollout is complete", func() (bool, string) {
		now, err := p.client.AppsV1().Deployments(d.Namespace).Get(t.Context(), d.Name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		s := now.Status
		return s.ObservedGeneration >= now.Generation && rollout.Complete(now, s), fmt.Sprintf("%+v", s)
	})
}

// checkPods holds the end against what must be: every pod is the new set's, and none is missing or too many.
func (p *plane) checkPods(t *testing.T, d *appsv1.Deployment, replicas int) {
	t.Helper()
	eventually(t, 2*time.Minute, "the old pods are gone", func() (bool, string) {
		pods, err := p.client.CoreV1().Pods(d.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		return len(pods.Items) == replicas, fmt.Sprintf("%d pods", len(pods.Items))
	})
	sets, err := p.client.AppsV1().ReplicaSets(d.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(sets.Items) != 2 {
		t.Errorf("%d ReplicaSets, want the old and the new one", len(sets.Items))
	}
	pods, err := p.client.CoreV1().Pods(d.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]int{}
	for i := range pods.Items {
		if owner := metav1.GetControllerOf(&pods.Items[i]); owner != nil {
			owners[owner.Name]++
		}
	}
	if len(owners) != 1 || len(pods.Items) != replicas {
		t.Errorf("%d pods of %v, want %d of one ReplicaSet", len(pods.Items), owners, replicas)
	}
}
