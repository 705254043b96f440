package live

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var (
	start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	web   = trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
)

// connect makes clients of a test's server as the command line does.
func connect(t *testing.T, s *livetest.Server) *Cluster {
	t.Helper()
	s.Start()
	t.Cleanup(s.Close)
	path, err := s.Kubeconfig(t.TempDir(), "team")
	if err != nil {
		t.Fatal(err)
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig = &path
	c, err := Connect(flags)
	if err != nil {
		t.Fatal(err)
	}
	if c.Context != "test" {
		t.Errorf("context %q, want test", c.Context)
	}
	return c
}

func read(t *testing.T, c *Cluster, q Query) *Snapshot {
	t.Helper()
	s, err := c.Read(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inTeam is what a developer of one namespace may do.
func inTeam(verb, resource, namespace string) bool {
	return namespace == "team" && (verb == "get" || verb == "list") && slices.Contains([]string{"deployments", "replicasets", "pods"}, resource)
}

func team(pods int) []k8sruntime.Object {
	return livetest.Rollout{Namespace: "team", Name: "web", Pods: pods, Created: start}.Objects()
}

// A developer's plan of up to 500 pods takes nine requests, and the dry run one more.
func TestRequestsOfANamespaceUser(t *testing.T) {
	server := &livetest.Server{Objects: team(3), Allowed: inTeam, Delay: 20 * time.Millisecond}
	s := read(t, connect(t, server), Query{Workloads: []trace.Ref{web}})
	want := []string{
		"GET /api/v1/namespaces/team",
		"GET /api/v1/namespaces/team/limitranges?limit=500",
		"GET /api/v1/namespaces/team/pods?labelSelector=app=web&limit=500",
		"GET /api/v1/namespaces/team/resourcequotas?limit=500",
		"GET /api/v1/nodes?limit=500",
		"GET /apis/apps/v1/namespaces/team/deployments/web",
		"GET /apis/apps/v1/namespaces/team/replicasets?limit=500",
		"GET /apis/autoscaling/v2/namespaces/team/horizontalpodautoscalers?limit=500",
		"GET /version",
	}
	if got := server.Requests(); !slices.Equal(got, want) {
		t.Errorf("requests:\n%s", strings.Join(got, "\n"))
	}
	if n := server.AtOnce(); n < 5 {
		t.Errorf("%d requests at once at most, want most of the first eight", n)
	}
	if len(s.Deployments) != 1 || len(s.ReplicaSets) != 1 || len(s.Pods) != 3 || len(s.Others) != 0 {
		t.Errorf("read %d Deployments, %d ReplicaSets, %d pods, %d others", len(s.Deployments), len(s.ReplicaSets), len(s.Pods), len(s.Others))
	}
	wantWarnings := []string{
		"cannot list nodes: capacity is taken as unlimited",
		"cannot read resourcequotas, limitranges and namespaces: all pods are taken to be admitted",
		"cannot list horizontalpodautoscalers: none are taken to be there",
	}
	if got := s.Warnings(); !slices.Equal(got, wantWarnings) {
		t.Errorf("warnings:\n%s", strings.Join(got, "\n"))
	}
	for _, r := range server.Requests() {
		if strings.Contains(r, "secrets") || strings.Contains(r, "configmaps") {
			t.Errorf("asked for %s", r)
		}
	}
}

// Each kind alone may be forbidden.
func TestForbiddenKinds(t *testing.T) {
	for denied, want := range map[string]string{
		"nodes":           "cannot list nodes: capacity is taken as unlimited",
		"replicasets":     "cannot list replicasets: the last rollout is taken as finished",
		"pods":            "cannot list pods and pods of other namespaces: ",
		"limitranges":     "cannot list limitranges: all pods are taken to be admitted",
		"priorityclasses": "cannot list priorityclasses: pods are taken to be of equal priority",
		"namespaces":      "cannot read namespaces: all pods are taken to be admitted",
	} {
		server := &livetest.Server{Objects: team(3), Allowed: func(_, resource, _ string) bool { return resource != denied }}
		s := read(t, connect(t, server), Query{Workloads: []trace.Ref{web}})
		if got := s.Warnings(); denied != "pods" && (len(got) != 1 || got[0] != want) {
			t.Errorf("%s: warnings %q", denied, got)
		}
		if known := denied != "replicasets" && denied != "pods"; s.PodsKnown() != known {
			t.Errorf("%s: pods known: %v", denied, s.PodsKnown())
		}
	}
}

// Pages are read to the end, and pods of others are cut down.
func TestPages(t *testing.T) {
	other := livetest.Rollout{Namespace: "elsewhere", Name: "other", Pods: 1234, Created: start, CPU: "100m"}.Objects()
	other = append(other, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "ended"},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded}})
	server := &livetest.Server{Objects: slices.Concat(team(501), other, livetest.Nodes(2, "4"))}
	s := read(t, connect(t, server), Query{Workloads: []trace.Ref{web}})
	if len(s.Pods) != 501 || len(s.Others) != 1234 || len(s.Nodes) != 2 {
		t.Fatalf("read %d pods, %d others, %d nodes", len(s.Pods), len(s.Others), len(s.Nodes))
	}
	var pages []string
	for _, r := range server.Requests() {
		if strings.HasPrefix(r, "GET /api/v1/pods?") {
			pages = append(pages, r)
		}
	}
	if len(pages) != 3 || !strings.Contains(pages[0], "continue=1000") || !strings.Contains(pages[0], "metadata.namespace!=team") {
		t.Errorf("pages of other pods: %q", pages)
	}
	pod := s.Others[0]
	if c := pod.Spec.Containers[0]; len(c.Env) > 0 || len(c.Args) > 0 || c.Resources.Requests.Cpu().String() != "100m" || pod.Spec.NodeName == "" {
		t.Errorf("another's pod: %+v", pod.Spec)
	}
	if !strings.HasPrefix(s.Version, "v1.37") {
		t.Errorf("version %q", s.Version)
	}
}

// The list is read in one piece when its pages expire on the way.
func TestExpiredPages(t *testing.T) {
	calls := []metav1.ListOptions{}
	list := func(_ context.Context, opts metav1.ListOptions) (*corev1.PodList, error) {
		calls = append(calls, opts)
		switch {
		case opts.Continue != "":
			return nil, expired
		case opts.Limit == 0:
			return &corev1.PodList{Items: make([]corev1.Pod, 700)}, nil
		}
		return &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "x"}, Items: make([]corev1.Pod, 500)}, nil
	}
	got, err := fetch(context.Background(), list, func(l *corev1.PodList) []corev1.Pod { return l.Items }, metav1.ListOptions{}, bare)
	if err != nil || len(got) != 700 || len(calls) != 3 {
		t.Errorf("%d objects in %d calls: %v", len(got), len(calls), err)
	}
}

// A ReplicaSet brings its Deployment; others of the namespace stay out of it.
func TestReplicaSetBringsItsDeployment(t *testing.T) {
	neighbour := livetest.Rollout{Namespace: "team", Name: "neighbour", Pods: 2, Created: start}.Objects()
	server := &livetest.Server{Objects: slices.Concat(team(3), neighbour, livetest.Nodes(1, "4"))}
	s := read(t, connect(t, server), Query{Workloads: []trace.Ref{{Kind: "ReplicaSet", Namespace: "team", Name: "web-6d"}}})
	if len(s.Deployments) != 1 || s.Find(web) == nil || len(s.ReplicaSets) != 1 || len(s.Pods) != 3 || len(s.Others) != 2 {
		t.Errorf("read %d Deployments, %d ReplicaSets, %d pods, %d others", len(s.Deployments), len(s.ReplicaSets), len(s.Pods), len(s.Others))
	}
}

// A class that cannot be read gets the priority that its pods have.
func TestMadeUpClass(t *testing.T) {
	objects := team(1)
	priority := int32(1000)
	for _, obj := range objects {
		switch o := obj.(type) {
		case *appsv1.Deployment:
			o.Spec.Template.Spec.PriorityClassName = "high"
		case *corev1.Pod:
			o.Spec.PriorityClassName, o.Spec.Priority = "high", &priority
		}
	}
	s := read(t, connect(t, &livetest.Server{Objects: objects, Allowed: inTeam}), Query{Workloads: []trace.Ref{web}})
	if len(s.Classes) != 1 || s.Classes[0].Name != "high" || s.Classes[0].Value != 1000 {
		t.Errorf("classes: %v", s.Classes)
	}
	listed := &schedulingv1.PriorityClass{TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"}, ObjectMeta: metav1.ObjectMeta{Name: "low"}}
	s = read(t, connect(t, &livetest.Server{Objects: append(objects, listed)}), Query{Workloads: []trace.Ref{web}})
	if len(s.Classes) != 1 || s.Classes[0].Name != "low" {
		t.Errorf("classes: %v", s.Classes)
	}
}

// Autoscalers come with the namespace: they belong to the world of the plan.
func TestAutoscalersAreRead(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"}, ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	s := read(t, connect(t, &livetest.Server{Objects: append(team(1), hpa)}), Query{Workloads: []trace.Ref{web}})
	if len(s.Autoscalers) != 1 || s.Autoscalers[0].Spec.ScaleTargetRef.Name != "web" || len(s.Warnings()) != 0 {
		t.Errorf("autoscalers %v, warnings %q", s.Autoscalers, s.Warnings())
	}
}

// Missing is an error, unless it may be created.
func TestMissing(t *testing.T) {
	c := connect(t, &livetest.Server{})
	for _, ref := range []trace.Ref{web, {Kind: "ReplicaSet", Namespace: "team", Name: "web"}} {
		_, err := c.Read(context.Background(), Query{Workloads: []trace.Ref{ref}})
		want := fmt.Sprintf("Error from server (NotFound): %ss.apps \"web\" not found", strings.ToLower(ref.Kind))
		if err == nil || err.Error() != want {
			t.Errorf("%v: %v", ref, err)
		}
		if s := read(t, c, Query{Workloads: []trace.Ref{ref}, MayBeMissing: true}); s.Find(ref) != nil {
			t.Errorf("%v: found", ref)
		}
	}
}

// 300 nodes and 5,000 other pods stay within two seconds and few megabytes.
func TestLargeCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	other := livetest.Rollout{Namespace: "elsewhere", Name: "other", Pods: 5000, Created: start, CPU: "100m"}.Objects()
	c := connect(t, &livetest.Server{Objects: slices.Concat(team(10), other, livetest.Nodes(300, "16"))})
	before, began := heap(), time.Now()
	s := read(t, c, Query{Workloads: []trace.Ref{web}})
	took, grown := time.Since(began), int64(heap())-int64(before)
	if len(s.Others) != 5000 || len(s.Nodes) != 300 {
		t.Fatalf("read %d others, %d nodes", len(s.Others), len(s.Nodes))
	}
	t.Logf("%s, %d MiB kept", took, grown>>20)
	if grown > 40<<20 {
		t.Errorf("the snapshot keeps %d MiB", grown>>20)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A server's audit log shall say who asked.
func TestUserAgent(t *testing.T) {
	agents := make(chan string, 20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		http.NotFound(w, r)
	}))
	defer server.Close()
	flags, none := genericclioptions.NewConfigFlags(true), os.DevNull
	flags.APIServer, flags.KubeConfig = &server.URL, &none
	c, err := Connect(flags)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context(), Query{Workloads: []trace.Ref{web}}); err == nil {
		t.Error("nothing is there, and yet it was read")
	}
	if agent := <-agents; agent != rest.DefaultKubernetesUserAgent() {
		t.Errorf("the server sees %q", agent)
	}
}
