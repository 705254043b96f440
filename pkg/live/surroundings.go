package live

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Surroundings is what an object is explained by.
type Surroundings struct {
	*Snapshot
	// Events are those of the namespace about Deployments, ReplicaSets and pods.
	Events []*corev1.Event
	// Pod is the pod that was asked about, whole; nil when it is not there.
	Pod *corev1.Pod
}

// Surroundings reads a Deployment, ReplicaSet or pod with all that explains it.
// A pod need not be there: then it is the ReplicaSet that its name begins with
// that is read. What the user may not list is left out, as with Read.
func (c *Cluster) Surroundings(ctx context.Context, ref trace.Ref) (*Surroundings, error) {
	out := &Surroundings{}
	query := Query{Namespace: ref.Namespace, Workloads: []trace.Ref{ref}, Kin: true}
	if ref.Kind == "Pod" {
		pod, err := c.core.Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			out.Pod = pod
		case !apierrors.IsNotFound(err):
			return nil, explain(err)
		}
		query.Workloads, query.MayBeMissing = []trace.Ref{setBehind(ref, out.Pod)}, true
	}
	var err error
	if out.Snapshot, err = c.Read(ctx, query); err != nil {
		return nil, err
	}
	if out.Pod != nil {
		// Read leaves out who wrote its fields, and a pod that nobody owns.
		out.Pods = slices.DeleteFunc(out.Pods, func(pod *corev1.Pod) bool { return pod.Name == ref.Name && pod.Namespace == ref.Namespace })
		out.Pods = append(out.Pods, out.Pod)
	}
	return out, explain(c.readEvents(ctx, ref.Namespace, out))
}

// setBehind is the ReplicaSet that a pod names as its controller, or that its name begins with.
func setBehind(ref trace.Ref, pod *corev1.Pod) trace.Ref {
	set := trace.Ref{Kind: "ReplicaSet", Namespace: ref.Namespace, Name: ref.Name}
	if i := strings.LastIndex(ref.Name, "-"); i > 0 {
		set.Name = ref.Name[:i]
	}
	if pod != nil {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "ReplicaSet" {
			set.Name = owner.Name
		}
	}
	return set
}

func (c *Cluster) readEvents(ctx context.Context, namespace string, into *Surroundings) error {
	found, err := fetch(ctx, c.core.Events(namespace).List, func(l *corev1.EventList) []corev1.Event { return l.Items }, metav1.ListOptions{},
		func(e *corev1.Event) *corev1.Event {
			switch e.InvolvedObject.Kind {
			case "Deployment", "ReplicaSet", "Pod":
				return e.DeepCopy()
			}
			return nil
		})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		into.denied[events] = true
		return nil
	case err != nil:
		return err
	}
	into.Events = found
	return nil
}
