// Package rollout is the arithmetic of Deployments and ReplicaSets: pure
// functions of API objects and of the time given. Nothing here reads a clock,
// does I/O or changes its arguments.
package rollout

import (
	"fmt"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// Version is a Kubernetes minor version (37 for v1.37). It answers how the
// controllers and the API server of that release decide where releases differ,
// so that an older cluster can be imitated; all such switches are in this file.
type Version int

// The releases that can be imitated.
const (
	OldestVersion Version = 22
	LatestVersion Version = 37
)

// ParseVersion reads v1.37, 1.37 or 1.37.2. A release outside the supported
// range is an error.
func ParseVersion(s string) (Version, error) {
	parsed, err := utilversion.ParseGeneric(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a Kubernetes version such as v1.37", s)
	}
	v := Version(parsed.Minor())
	if parsed.Major() != 1 || v < OldestVersion || v > LatestVersion {
		return 0, fmt.Errorf("Kubernetes version %q is not supported: choose %s to %s", s, OldestVersion, LatestVersion)
	}
	return v, nil
}

// NearestVersion is the release a server says it is of, or the nearest that can
// be imitated, and then false; the latest where it says nothing one can read.
func NearestVersion(s string) (Version, bool) {
	parsed, err := utilversion.ParseGeneric(s)
	if err != nil {
		return LatestVersion, false
	}
	v := min(max(Version(parsed.Minor()), OldestVersion), LatestVersion)
	return v, parsed.Major() == 1 && v == Version(parsed.Minor())
}

// String is v1.N.
func (v Version) String() string { return fmt.Sprintf("v1.%d", int(v)) }

// ScalingEventFromTo: scaling events say "from A to B", and a creation "from 0
// to B"; before, see ScalingEventToFrom.
func (v Version) ScalingEventFromTo() bool { return v >= 32 }

// ScalingEventToFrom: scaling events say "to B from A", creations "to B";
// before, all say "to B".
func (v Version) ScalingEventToFrom() bool { return v >= 25 && v < 32 }

// SkipsInvalidSelectors: one object with an invalid selector no longer breaks
// the matching of orphans against all others.
func (v Version) SkipsInvalidSelectors() bool { return v >= 25 }

// StrictReplicaAnnotations: desired-replicas and max-replicas parse as unsigned
// and a zero or absent max-replicas no longer divides by zero.
func (v Version) StrictReplicaAnnotations() bool { return v >= 32 }

// RanksSidecarRestarts: restarts of sidecars count in the choice of victims.
func (v Version) RanksSidecarRestarts() bool { return v >= 32 }

// AvailableAtBoundary: a pod is available at, not only after, the end of
// minReadySeconds; ready events set timers without an extra second and every
// pass ends by looking for the next pod to become available.
func (v Version) AvailableAtBoundary() bool { return v >= 34 }

// TruncatesReplicaSetName: names over 253 bytes are cut to fit.
func (v Version) TruncatesReplicaSetName() bool { return v >= 34 }

// TerminatingReplicas: status.terminatingReplicas is published.
func (v Version) TerminatingReplicas() bool { return v >= 35 }

// ReadsOwnWrites: a ReplicaSet's pass waits until the cache holds what its
// earlier passes wrote.
func (v Version) ReadsOwnWrites() bool { return v >= 36 }

// RecreateWakesOnEveryPod: each deleted pod of a Recreate Deployment wakes it;
// before, only the last one did.
func (v Version) RecreateWakesOnEveryPod() bool { return v >= 37 }

// PodGeneration: pods carry metadata.generation.
func (v Version) PodGeneration() bool { return v >= 34 }

// JSONValues: validation errors print structured values as JSON.
func (v Version) JSONValues() bool { return v >= 34 }

// SchedulesDuringBackOff: the scheduler takes pods out of their back-off when
// it has nothing else to do.
func (v Version) SchedulesDuringBackOff() bool { return v >= 33 }

// CountsTaintsTogether: a pod refused because of taints is told so without
// their names.
func (v Version) CountsTaintsTogether() bool { return v >= 35 }

// NodeMonitorGrace is how long a node may be silent before it counts as
// unreachable: kube-controller-manager's --node-monitor-grace-period.
func (v Version) NodeMonitorGrace() time.Duration {
	if v < 32 {
		return 40 * time.Second
	}
	return 50 * time.Second
}

// DisruptionConditions: who throws a pod out says so in its DisruptionTarget
// condition, and the pod garbage collector marks pods as failed before it deletes them.
func (v Version) DisruptionConditions() bool { return v >= 26 }

// UnhealthyPodEviction: the unhealthyPodEvictionPolicy of disruption budgets counts.
func (v Version) UnhealthyPodEviction() bool { return v >= 27 }

// CollectsOutOfService: pods terminating on a node with the out-of-service
// taint are deleted for good.
func (v Version) CollectsOutOfService() bool { return v >= 26 }

// AutoscalerTolerances: the tolerances of an autoscaler's behavior count.
func (v Version) AutoscalerTolerances() bool { return v >= 35 }

// AutoscalerGeneration: autoscalers count their specs, and a changed one is
// looked at at once.
func (v Version) AutoscalerGeneration() bool { return v >= 37 }

// AutoscalesToZero: minReplicas may be 0 where an object or external metric
// says when to come back.
func (v Version) AutoscalesToZero() bool { return v >= 37 }

// WaitsForDetach: a volume that another node has is waited for; before, that
// was called a Multi-Attach error.
func (v Version) WaitsForDetach() bool { return v >= 37 }

// NamelessContainerEvents: a kubelet's Created and Started events no longer name the container.
func (v Version) NamelessContainerEvents() bool { return v >= 35 }

// VerifiesPulledImages: a kubelet looks whether a pod may use an image that is
// on its node already.
func (v Version) VerifiesPulledImages() bool { return v >= 35 }
