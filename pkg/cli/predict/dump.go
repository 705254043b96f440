package predict

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// missing warns of dumps that leave out what a workload's status tells of: the
// simulated controllers would make all of it anew.
func missing(objs []manifest.Object) []string {
	owned := map[types.UID]int{}
	for _, obj := range objs {
		if c := metav1.GetControllerOf(obj); c != nil {
			owned[c.UID]++
		}
	}
	var out []string
	for _, obj := range objs {
		what := ""
		switch o := obj.(type) {
		case *appsv1.Deployment:
			if o.Status.Replicas > 0 {
				what = "ReplicaSets"
			}
		case *appsv1.ReplicaSet:
			if o.Status.Replicas > 0 {
				what = "pods"
			}
		}
		if what != "" && owned[obj.GetUID()] == 0 {
			out = append(out, fmt.Sprintf("%s has %s that are not in the dump, and is simulated as if it had none: save it with kubectl get deploy,rs,pods,nodes -o yaml",
				refName(ref(obj)), what))
		}
	}
	return out
}
