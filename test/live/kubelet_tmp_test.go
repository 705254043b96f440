package live

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (p *plane) kubelet(t *testing.T) {
	w, err := p.client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for e := range w.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok || e.Type != "ADDED" {
				continue
			}
			go func() {
				time.Sleep(1500 * time.Millisecond)
				now := time.Now().UTC().Format(time.RFC3339)
				_, _ = p.client.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType,
					[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"`+now+`"}]}}`), metav1.PatchOptions{}, "status")
			}()
		}
	}()
}
