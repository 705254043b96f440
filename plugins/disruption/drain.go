package disruption

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// DrainOptions are kubectl drain's flags of these names.
type DrainOptions struct {
	IgnoreDaemonSets   bool
	DeleteEmptyDirData bool
	Force              bool
	DisableEviction    bool
	// GracePeriodSeconds replaces the pods' own; nil leaves it.
	GracePeriodSeconds *int64
	// Timeout is how long refusals are put up with; 0 is for ever.
	Timeout time.Duration
}

// evictRetry is how long kubectl waits after a refusal (cmd/drain EvictErrorRetryDelay).
const evictRetry = 5 * time.Second

// Drain evicts the pods of a node as kubectl drain does, those that a budget
// protects again and again. Cordoning the node is the caller's part. The error
// names pods that kubectl would not touch; later ones and warnings go to say.
func Drain(h *sim.Hands, node string, opts DrainOptions, say func(string)) error {
	d := drain{h: h, opts: opts, say: say, began: h.Now()}
	pods, err := d.pods(node)
	if err != nil {
		return fmt.Errorf("unable to drain node %q due to error: %w", node, err)
	}
	for _, pod := range pods {
		h.After(h.Latency(sim.CallLatency), func() { d.remove(pod) })
	}
	return nil
}

type drain struct {
	h     *sim.Hands
	opts  DrainOptions
	say   func(string)
	began time.Time
}

// Reasons of kubectl's filters (kubectl/pkg/drain/filters.go).
const (
	daemonSetFatal    = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
	daemonSetWarning  = "ignoring DaemonSet-managed Pods"
	localStorageFatal = "Pods with local storage (use --delete-emptydir-data to override)"
	unmanagedFatal    = "Pods that declare no controller (use --force to override)"
	unmanagedWarning  = "deleting Pods that declare no controller"
)

// pods are those to go, in order of creation; one that may not go keeps all.
func (d *drain) pods(node string) (out []*corev1.Pod, err error) {
	var warned, refused grouped
	for _, obj := range d.h.Stored().List(sim.Pods, "") {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != node {
			continue
		}
		goes, warning, fatal := d.filter(pod)
		warned.add(warning, pod)
		refused.add(fatal, pod)
		if goes {
			out = append(out, pod)
		}
	}
	if len(refused.reasons) > 0 {
		var errs []error
		for _, line := range refused.lines() {
			errs = append(errs, errors.New("cannot delete "+line))
		}
		return nil, utilerrors.NewAggregate(errs)
	}
	if lines := warned.lines(); len(lines) > 0 {
		d.say("WARNING: " + strings.Join(lines, "; "))
	}
	return out, nil
}

// filter decides about one pod. Of several warnings the last counts.
func (d *drain) filter(pod *corev1.Pod) (goes bool, warning, fatal string) {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return false, "", ""
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true, "", ""
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner != nil && owner.Kind == "DaemonSet" {
		if d.opts.IgnoreDaemonSets {
			return false, daemonSetWarning, ""
		}
		return false, "", daemonSetFatal
	}
	if hasEmptyDir(pod) && !d.opts.DeleteEmptyDirData {
		return false, "", localStorageFatal
	}
	switch {
	case owner == nil && !d.opts.Force:
		return false, "", unmanagedFatal
	case owner == nil:
		return true, unmanagedWarning, ""
	}
	// A warning about local storage gets lost in the filters that follow.
	return true, "", ""
}

func hasEmptyDir(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].EmptyDir != nil {
			return true
		}
	}
	return false
}

// remove asks for a pod's deletion until it is granted.
func (d *drain) remove(pod *corev1.Pod) {
	opts := metav1.DeleteOptions{GracePeriodSeconds: d.opts.GracePeriodSeconds}
	why := trace.Evicted{By: "drain", Message: "node " + pod.Spec.NodeName + " is drained"}
	var err error
	if d.opts.DisableEviction {
		d.h.Under(d.h.Emit(sim.RefOf(pod), why), func() { err = d.h.Delete(sim.Pods, pod.Namespace, pod.Name, opts) })
	} else {
		err = d.h.Evict(pod.Namespace, pod.Name, opts, why)
	}
	switch {
	case err == nil || apierrors.IsNotFound(err):
	case apierrors.IsTooManyRequests(err) && !d.opts.DisableEviction:
		d.h.Emit(sim.RefOf(pod), trace.Rejected{By: "poddisruptionbudget", Message: explained(err)})
		d.say(fmt.Sprintf("error when evicting pods/%q -n %q (will retry after %v): %v", pod.Name, pod.Namespace, evictRetry, err))
		d.again(pod)
	default:
		d.say(fmt.Sprintf("error when evicting pods/%q -n %q: %v", pod.Name, pod.Namespace, err))
	}
}

// explained is a refusal with the budget's own reason behind it.
func explained(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if details := status.Status().Details; details != nil && len(details.Causes) > 0 {
			return err.Error() + " " + details.Causes[0].Message
		}
	}
	return err.Error()
}

func (d *drain) again(pod *corev1.Pod) {
	d.h.After(evictRetry, func() {
		if d.opts.Timeout > 0 && d.h.Now().Sub(d.began) >= d.opts.Timeout {
			d.say(fmt.Sprintf("error when evicting pods/%q -n %q: global timeout reached: %v", pod.Name, pod.Namespace, d.opts.Timeout))
			return
		}
		d.remove(pod)
	})
}

// grouped are pods by reason, in the order in which the reasons came up.
type grouped struct {
	reasons []string
	pods    map[string][]string
}

func (g *grouped) add(reason string, pod *corev1.Pod) {
	if reason == "" {
		return
	}
	if g.pods == nil {
		g.pods = map[string][]string{}
	}
	if g.pods[reason] == nil {
		g.reasons = append(g.reasons, reason)
	}
	g.pods[reason] = append(g.pods[reason], pod.Namespace+"/"+pod.Name)
}

func (g *grouped) lines() (out []string) {
	for _, reason := range g.reasons {
		out = append(out, reason+": "+strings.Join(g.pods[reason], ", "))
	}
	return out
}
