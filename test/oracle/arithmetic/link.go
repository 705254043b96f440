package arithmetic

import (
	"time"
	_ "unsafe" // for linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	_ "k8s.io/kubernetes/pkg/controller/deployment" // provides what is linked below

	_ "github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// Functions that are not exported, on either side, but carry a rule of their own.

//go:linkname upstreamDeploymentStatus k8s.io/kubernetes/pkg/controller/deployment.calculateStatus
func upstreamDeploymentStatus(all []*appsv1.ReplicaSet, newSet *appsv1.ReplicaSet, d *appsv1.Deployment) appsv1.DeploymentStatus

//go:linkname upstreamReplicaSetStatus k8s.io/kubernetes/pkg/controller/replicaset.calculateStatus
func upstreamReplicaSetStatus(rs *appsv1.ReplicaSet, active, terminating []*corev1.Pod, failure error, features replicaset.ReplicaSetControllerFeatures, now time.Time) appsv1.ReplicaSetStatus

//go:linkname upstreamVictims k8s.io/kubernetes/pkg/controller/replicaset.getPodsToDelete
func upstreamVictims(active, related []*corev1.Pod, n int) []*corev1.Pod

//go:linkname upstreamReplicaSetName k8s.io/kubernetes/pkg/controller/deployment.generateReplicaSetName
func upstreamReplicaSetName(deployment, hash string) string

//go:linkname upstreamPodsPrefix k8s.io/kubernetes/pkg/controller.getPodsPrefix
func upstreamPodsPrefix(owner string) string

//go:linkname upstreamRollbackTo k8s.io/kubernetes/pkg/controller/deployment.getRollbackTo
func upstreamRollbackTo(d *appsv1.Deployment) *rollbackConfig

// rollbackConfig has the layout of extensions/v1beta1 RollbackConfig.
type rollbackConfig struct{ Revision int64 }

//go:linkname ourSaturated github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout.isSaturated
func ourSaturated(d *appsv1.Deployment, rs *appsv1.ReplicaSet) bool

//go:linkname ourShare github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout.share
func ourShare(d *appsv1.Deployment, rs *appsv1.ReplicaSet, left int32, v rollout.Version) rollout.Budget

//go:linkname ourReplicaSetName github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout.replicaSetName
func ourReplicaSetName(deployment, hash string, v rollout.Version) string

//go:linkname ourCompareRevision github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout.compareRevision
func ourCompareRevision(a, b *appsv1.ReplicaSet) int

//go:linkname ourBySize github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout.bySize
func ourBySize(sets []*appsv1.ReplicaSet, newestFirst bool) []*appsv1.ReplicaSet

//go:linkname ourPod github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset.podFromTemplate
func ourPod(rs *appsv1.ReplicaSet) *corev1.Pod

//go:linkname ourNamePrefix github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset.namePrefix
func ourNamePrefix(owner string) string
