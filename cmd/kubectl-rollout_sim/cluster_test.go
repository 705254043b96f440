package main

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
)

// noon is the time of the test clusters, far from the local clock.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// clusters are the API servers a script can ask for; all have deployment/web
// with 10 pods in namespace team on 12 nodes, and others beside it.
var clusters = map[string]func(*livetest.Server){
	"admin": func(*livetest.Server) {},
	"developer": func(s *livetest.Server) {
		s.Allowed = func(verb, resource, namespace string) bool {
			return namespace == "team" && (verb == "get" || verb == "list") && slices.Contains([]string{"deployments", "replicasets", "pods"}, resource)
		}
	},
	"nobody": func(s *livetest.Server) { s.Allowed = func(string, string, string) bool { return false } },
	"webhook": func(s *livetest.Server) {
		s.Refuse = func(string) *metav1.Status {
			return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden,
				Reason: metav1.StatusReasonForbidden, Message: `admission webhook "policy.example.com" denied the request: images need a digest`}
		}
	},
	"conflict": func(s *livetest.Server) {
		s.Refuse = func(string) *metav1.Status {
			return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusConflict,
				Reason: metav1.StatusReasonConflict, Message: `Apply failed with 1 conflict: conflict with "hpa": .spec.replicas`}
		}
	},
	"expired": func(s *livetest.Server) {
		s.Expired = true
	},
	"no sets": func(s *livetest.Server) {
		s.Allowed = func(_, resource, _ string) bool { return resource != "replicasets" }
	},
	"failing": func(s *livetest.Server) {
		for _, obj := range s.Objects {
			if pod, ok := obj.(*corev1.Pod); ok && pod.Labels["app"] == "web" {
				fail(pod)
			}
		}
	},
	"v1.31": func(s *livetest.Server) { s.Version = "v1.31.4-eks-0a1b2c3" },
	"v1.99": func(s *livetest.Server) { s.Version = "v1.99.0" },
}

// fail makes a pod one whose image cannot be pulled.
func fail(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodPending
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type != corev1.PodScheduled {
			pod.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
	pod.Status.ContainerStatuses[0].Ready = false
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
}

// cluster starts an API server and points KUBECONFIG at it: cluster NAME.
func cluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || clusters[args[0]] == nil {
		ts.Fatalf("usage: cluster NAME")
	}
	server := &livetest.Server{Now: func() time.Time { return noon }}
	web := livetest.Rollout{Namespace: "team", Name: "web", Pods: 10, Created: noon.Add(-time.Hour), CPU: "500m",
		ReadyAfter: []time.Duration{3 * time.Second, 4 * time.Second, 3 * time.Second, 2 * time.Second, 3 * time.Second}}
	other := livetest.Rollout{Namespace: "elsewhere", Name: "other", Pods: 20, Created: noon.Add(-time.Hour), CPU: "100m"}
	neighbour := livetest.Rollout{Namespace: "team", Name: "neighbour", Pods: 2, Created: noon.Add(-time.Hour)}
	server.Objects = slices.Concat(web.Objects(), neighbour.Objects(), other.Objects(), livetest.Nodes(12, "8"))
	clusters[args[0]](server)
	server.Start()
	ts.Defer(server.Close)
	path, err := server.Kubeconfig(ts.MkAbs("."), "team")
	ts.Check(err)
	ts.Setenv("KUBECONFIG", path)
	running[ts] = server
	ts.Defer(func() { delete(running, ts) })
}

// running is the server of each script. Scripts that use one run one after the other.
var running = map[*testscript.TestScript]*livetest.Server{}

// requests writes what the program has asked for so far to stdout: requests.
func requests(ts *testscript.TestScript, _ bool, _ []string) {
	server := running[ts]
	if server == nil {
		ts.Fatalf("there is no cluster")
	}
	_, err := ts.Stdout().Write([]byte(strings.Join(server.Requests(), "\n") + "\n"))
	ts.Check(err)
}
