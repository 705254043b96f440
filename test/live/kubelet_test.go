package live

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// readyAfter is how long a pod takes.
const readyAfter = 1500 * time.Millisecond

// kubelet makes every pod ready after a while. Without a scheduler no pod has a
// node, so that deletion takes them away at once.
func (p *plane) kubelet(t *testing.T) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(p.client, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			time.AfterFunc(readyAfter, func() { p.makeReady(t, pod) })
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
}

// makeReady tries again while the API server is away, until the pod is gone or the test over.
func (p *plane) makeReady(t *testing.T, pod *corev1.Pod) {
	_, err := p.client.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType,
		readiness(pod.UID, corev1.ConditionTrue, time.Now()), metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && t.Context().Err() == nil {
		time.AfterFunc(readyAfter/3, func() { p.makeReady(t, pod) })
	}
}

// readiness is the patch of a running pod's status.
func readiness(uid types.UID, ready corev1.ConditionStatus, since time.Time) []byte {
	return []byte(`{"metadata":{"uid":"` + string(uid) + `"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"` +
		string(ready) + `","lastTransitionTime":"` + since.UTC().Format(time.RFC3339) + `"}]}}`)
}
