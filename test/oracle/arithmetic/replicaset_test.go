package arithmetic

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/utils/clock"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

func podNames(pods []*corev1.Pod) []string {
	out := []string{}
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

func TestPods(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		p := r.pod(1)
		minReady, want := int32(r.IntN(4)), r.pod(2).Labels
		return []compared{
			same("IsPodActive", rollout.IsPodActive(p), controller.IsPodActive(p), p),
			same("IsPodTerminating", rollout.IsPodTerminating(p), controller.IsPodTerminating(p), p),
			same("IsPodTerminal", rollout.IsPodTerminal(p), podutil.IsPodTerminal(p), p),
			same("IsPodReady", rollout.IsPodReady(p), podutil.IsPodReady(p), p),
			same("IsPodAvailable", version.IsPodAvailable(p, minReady, r.now), podutil.IsPodAvailable(p, minReady, metav1.NewTime(r.now)), []any{p, minReady}),
			same("labels of the template", rollout.HasLabels(p.Labels, want), labels.Set(want).AsSelectorPreValidated().Matches(labels.Set(p.Labels)), []any{p, want}),
		}
	})
}

type standing struct {
	clock.PassiveClock
	at time.Time
}

func (c standing) Now() time.Time { return c.at }

func TestNextAvailability(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		pods, minReady := r.pods(), int32(r.IntN(8))
		later := r.now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
		want := controller.FindMinNextPodAvailabilityCheck(pods, minReady, r.now, standing{at: later})
		after, ok := rollout.NextAvailability(pods, minReady, r.now, later)
		var got *time.Duration
		if ok {
			got = &after
		}
		return []compared{same("FindMinNextPodAvailabilityCheck", got, want, []any{pods, minReady, later})}
	})
}

func TestVictims(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		active := r.pods()
		if len(active) == 0 || dividesByZero(active, r.now) {
			return nil
		}
		related := append(slices.Clone(active), r.pods()...)
		onNode := map[string]int32{}
		for _, p := range related {
			if rollout.IsPodActive(p) {
				onNode[p.Spec.NodeName]++
			}
		}
		n := r.IntN(len(active) + 1)
		ours := version.ChooseVictims(slices.Clone(active), onNode, n, r.now)
		theirs := upstreamVictims(slices.Clone(active), related, n)
		return []compared{same("getPodsToDelete", podNames(ours.Pods), podNames(theirs), []any{active, onNode, n})}
	})
}

// dividesByZero: upstream's metric divides by the age in milliseconds of the
// youngest ready pod, and panics for one made at this very moment.
func dividesByZero(pods []*corev1.Pod, now time.Time) bool {
	youngest := time.Time{}
	for _, p := range pods {
		if p.CreationTimestamp.After(youngest) && rollout.IsPodReady(p) {
			youngest = p.CreationTimestamp.Time
		}
	}
	return now.Sub(youngest).Milliseconds() == 0
}

func TestReplicaSetStatus(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		rs := r.oneSet(r.deployment())
		active := slices.DeleteFunc(r.pods(), func(p *corev1.Pod) bool { return !rollout.IsPodActive(p) })
		terminating := r.pods()
		failure := pick(r, nil, errors.New("no"))
		theirs := upstreamReplicaSetStatus(rs, active, terminating, failure, replicaset.DefaultReplicaSetControllerFeatures(), r.now)
		return []compared{same("calculateStatus", version.ReplicaSetStatus(rs, active, int32(len(terminating)), failure, r.now), theirs, []any{rs, active, failure})}
	})
}

func TestReplicaSetConditions(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		s := r.replicaSetStatus()
		kind := pick(r, appsv1.ReplicaSetReplicaFailure, "Other", "Third")
		c := r.replicaSetCondition(kind)
		set, ourSet, removed, ourRemoved := s.DeepCopy(), s.DeepCopy(), s.DeepCopy(), s.DeepCopy()
		replicaset.SetCondition(set, c)
		rollout.SetReplicaSetCondition(ourSet, c)
		replicaset.RemoveCondition(removed, kind)
		rollout.RemoveReplicaSetCondition(ourRemoved, kind)
		return []compared{
			same("GetCondition", rollout.ReplicaSetCondition(s, kind), replicaset.GetCondition(s, kind), s),
			same("SetCondition", ourSet, set, []any{s, c}),
			same("RemoveCondition", ourRemoved, removed, []any{s, kind}),
		}
	})
}

func TestPodFromTemplate(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		rs := r.oneSet(r.deployment())
		rs.Name = pick(r, rs.Name, "a.b", "a.", strings.Repeat("x", 253), strings.Repeat("x", 252), strings.Repeat("x", 251), "UPPER")
		theirs, err := controller.GetPodFromTemplate(&rs.Spec.Template, rs, metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")))
		if err != nil {
			return []compared{same("GetPodFromTemplate", "", text(err), rs)}
		}
		theirs.Namespace = rs.Namespace // the real pod control creates it in there
		ours := ourPod(rs)
		return []compared{
			same("GetPodFromTemplate", asSent(ours), asSent(theirs), rs),
			same("getPodsPrefix", ourNamePrefix(rs.Name), upstreamPodsPrefix(rs.Name), rs.Name),
		}
	})
}

// asSent forgets what JSON does not carry: empty lists and maps.
func asSent(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	for _, m := range []*map[string]string{&p.Labels, &p.Annotations} {
		if len(*m) == 0 {
			*m = nil
		}
	}
	if reflect.DeepEqual(p.Finalizers, []string{}) {
		p.Finalizers = nil
	}
	return p
}
