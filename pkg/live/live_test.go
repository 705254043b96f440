package live

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var expired = apierrors.NewResourceExpired("the continue token is too old")

func TestClock(t *testing.T) {
	ours := start.Add(400 * time.Millisecond)
	for name, test := range map[string]struct {
		dates []string
		want  time.Time
	}{
		"nothing heard":      {nil, ours},
		"no date":            {[]string{""}, ours},
		"the same second":    {[]string{"Sun, 01 Mar 2026 12:00:00 GMT"}, ours},
		"an hour behind":     {[]string{"Sun, 01 Mar 2026 11:00:00 GMT"}, start.Add(-time.Hour + 500*time.Millisecond)},
		"two servers differ": {[]string{"Sun, 01 Mar 2026 11:00:00 GMT", "Sun, 01 Mar 2026 12:00:00 GMT"}, ours},
	} {
		c := &serverClock{now: func() time.Time { return ours }}
		for _, date := range test.dates {
			c.hear(date, ours, ours)
		}
		if got := c.Now(); !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api?timeout=32s", Err: errors.New("dial tcp 10.0.0.1:6443: connect: connection refused")}
	lookup := &url.Error{Op: "Get", URL: "https://nowhere", Err: errors.New("dial tcp: lookup nowhere: no such host")}
	for want, err := range map[string]error{
		`Error from server (NotFound): deployments.apps "web" not found`:                                   apierrors.NewNotFound(appsv1.Resource("deployments"), "web"),
		"error: You must be logged in to the server (Unauthorized)":                                        apierrors.NewUnauthorized("Unauthorized"),
		"The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?": refused,
		"Unable to connect to the server: dial tcp: lookup nowhere: no such host":                          lookup,
		"Error from server (NotFound): deployments.apps \"web\" not found\nerror: no":                      utilerrors.NewAggregate([]error{apierrors.NewNotFound(appsv1.Resource("deployments"), "web"), errors.New("no")}),
		"something else": errors.New("something else"),
	} {
		if got := explain(err); got.Error() != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	invalid := apierrors.NewInvalid(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), "web", nil)
	if got := explain(invalid); got != error(invalid) {
		t.Errorf("a failed validation became %v", got)
	}
}

// measuredPod is a pod that was ready so long after its binding.
func measuredPod(seconds int, change func(*corev1.Pod)) *corev1.Pod {
	r := livetest.Rollout{Namespace: "team", Name: "web", Pods: 1, Created: start, ReadyAfter: []time.Duration{time.Duration(seconds) * time.Second}}
	pod := r.Objects()[2].(*corev1.Pod)
	if change != nil {
		change(pod)
	}
	return pod
}

// later moves all that the conditions tell.
func later(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Add(time.Second))
	}
}

func TestMeasure(t *testing.T) {
	base := livetest.Rollout{Namespace: "team", Name: "web", Pods: 0, Created: start}.Objects()
	d, rs := base[0].(*appsv1.Deployment), base[1].(*appsv1.ReplicaSet)
	all := func(seconds ...int) (out []*corev1.Pod) {
		for _, s := range seconds {
			out = append(out, measuredPod(s, nil))
		}
		return out
	}
	deleted := metav1.NewTime(start)
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want string // mean, p95, low, high, pods
	}{
		"equal":              {all(2, 2, 2), "2s 2s 2s 2s 3"},
		"rounding alone":     {all(2, 2, 2, 2, 3), "2.2s 2.2s 2.2s 2.2s 5"}, // 0.16 is less than the two roundings' 1/6
		"spread":             {all(2, 4, 6, 8), "5s 8.4s 1.2s 8.8s 4"},      // variance 5 - 1/6; half width sqrt(3 * 4.83) = 3.81
		"never below zero":   {all(0, 0, 0, 4), "1s 3.7s 0s 3.9s 4"},
		"a relapse is out":   {append(all(2, 2, 2), measuredPod(3600, nil)), "2s 2s 2s 2s 3"},
		"a restart is out":   {append(all(2), measuredPod(9, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 })), "2s 2s 2s 2s 1"},
		"unready is out":     {append(all(2), measuredPod(9, func(p *corev1.Pod) { p.Status.Conditions[2].Status = corev1.ConditionFalse })), "2s 2s 2s 2s 1"},
		"terminating is out": {append(all(2), measuredPod(9, func(p *corev1.Pod) { p.DeletionTimestamp = &deleted })), "2s 2s 2s 2s 1"},
		"another's is out":   {append(all(2), measuredPod(9, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "x" })), "2s 2s 2s 2s 1"},
		"a burst is one":     {append(all(3, 3, 3, 3, 3), measuredPod(2, later)), "2.5s 2.5s 2.5s 2.5s 6"},
		"none":               {nil, "none"},
	} {
		s := &Snapshot{Deployments: []*appsv1.Deployment{d}, ReplicaSets: []*appsv1.ReplicaSet{rs}, Pods: test.pods}
		got := "none"
		if times, ok := s.Measure(d); ok {
			got = strings.Join([]string{times.Mean.String(), times.P95.String(), times.Low.String(), times.High.String(), string(rune('0' + times.Pods))}, " ")
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestDump(t *testing.T) {
	objects := team(2)
	d := objects[0].(*appsv1.Deployment)
	d.Annotations["team.example.com/note"] = "call 555-hunter2"
	d.Annotations[corev1.LastAppliedConfigAnnotation] = `{"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"PASSWORD","value":"hunter2"}]}]}}}}`
	d.Spec.Template.Spec.Containers[0].Command = []string{"run", "hunter2"}
	d.Spec.Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "sleep 5"}}}}
	d.Spec.Template.Spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: "hunter2"}}}}}
	s := read(t, connect(t, &livetest.Server{Objects: objects}), Query{Workloads: []trace.Ref{web}})
	var blind, open bytes.Buffer
	if err := s.Dump(&blind, DumpOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Dump(&open, DumpOptions{Keep: true, JSON: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(blind.String(), "hunter2") {
		t.Errorf("a secret is in the dump:\n%s", blind.String())
	}
	for _, kept := range []string{"kind: List", "sleep 5", "name: PASSWORD", `deployment.kubernetes.io/revision: "1"`, "image: app:1"} {
		if !strings.Contains(blind.String(), kept) {
			t.Errorf("%q is not in the dump", kept)
		}
	}
	if n := strings.Count(open.String(), "hunter2"); n < 8 {
		t.Errorf("%d secrets are in the whole dump", n)
	}
	// Equal values have equal marks: the templates still compare.
	marks := map[string]bool{}
	for _, line := range strings.Split(blind.String(), "\n") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "value: "); ok {
			marks[value] = true
		}
	}
	if len(marks) != 1 {
		t.Errorf("marks for one value: %v", marks)
	}
}
