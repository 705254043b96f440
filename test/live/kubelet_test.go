package live

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// readyAfter is how long a pod takes.
const readyAfter = 1500 * time.Millisecond

// kubelet makes every pod ready after a while. Without a scheduler no pod has a
// node, so that deletion takes them away at once.
func (p *plane) kubelet(t *testing.T) {
	t.Helper()
	w, err := p.client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	go func() {
		for e := range w.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok || e.Type != watch.Added {
				continue
			}
			time.AfterFunc(readyAfter, func() {
				now := time.Now().UTC().Format(time.RFC3339)
				// The pod may be gone, and the test over.
				_, _ = p.client.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType,
					[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"`+now+`"}]}}`), metav1.PatchOptions{}, "status")
			})
		}
	}()
}
