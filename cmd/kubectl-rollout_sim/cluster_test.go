package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
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
	// argocd is to who may do what docs/integrations/argocd-presync.yaml says.
	"argocd": func(s *livetest.Server) {
		h, err := readHook()
		if err != nil {
			panic(err)
		}
		s.Allowed = h.allows
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
	// rolling has controllers, a scheduler and kubelets, and keeps what is written.
	"rolling": func(s *livetest.Server) { s.Live, s.Now = true, time.Now },
	// viewing is the same to a user who may not change anything.
	"viewing": func(s *livetest.Server) {
		s.Live, s.Now = true, time.Now
		s.Allowed = func(verb, _, _ string) bool { return verb == "get" || verb == "list" || verb == "watch" }
	},
	// skewed is a clock five minutes ahead of ours.
	"skewed": func(s *livetest.Server) {
		s.Live, s.Now = true, func() time.Time { return time.Now().Add(5 * time.Minute) }
	},
	// idle has no controllers.
	"idle": func(s *livetest.Server) { s.Live, s.Now = true, time.Now },
	// dumped is what examples/dump.yaml was taken of: a rollout half way, in default.
	"dumped": func(s *livetest.Server) {
		s.Objects, s.Now = dumped(), func() time.Time { return noon.Add(3 * time.Second) }
	},
	// leased is idle, with the lease of a kube-controller-manager.
	"leased": func(s *livetest.Server) {
		s.Live, s.Now = true, time.Now
		s.Objects = append(s.Objects, livetest.ManagerLease(time.Now()))
	},
	// managed is rolling, with that lease.
	"managed": func(s *livetest.Server) {
		s.Live, s.Now = true, time.Now
		s.Objects = append(s.Objects, livetest.ManagerLease(time.Now()))
	},
	// leaseless is idle, to a user who may not read leases.
	"leaseless": func(s *livetest.Server) {
		s.Live, s.Now = true, time.Now
		s.Allowed = func(_, resource, _ string) bool { return resource != "leases" }
	},
	// governed is rolling, to a user who may not read leases, as most may not.
	"governed": func(s *livetest.Server) {
		s.Live, s.Now = true, time.Now
		s.Allowed = func(_, resource, _ string) bool { return resource != "leases" }
	},
	// shaky is idle, and ends the first requests for leases without an answer.
	"shaky": func(s *livetest.Server) {
		s.Live, s.Now = true, time.Now
		var asked atomic.Int32
		s.Allowed = func(_, resource, _ string) bool {
			if resource == "leases" && asked.Add(1) <= 30 {
				panic(http.ErrAbortHandler)
			}
			return true
		}
	},
	// lockless is idle, to a user who may only read leases.
	"lockless": func(s *livetest.Server) {
		s.Live, s.Now = true, time.Now
		s.Allowed = func(verb, resource, _ string) bool { return resource != "leases" || verb == "get" || verb == "list" }
	},
	"v1.31": func(s *livetest.Server) { s.Version = "v1.31.4-eks-0a1b2c3" },
	"v1.99": func(s *livetest.Server) { s.Version = "v1.99.0" },
}

// dumped are the objects of examples/dump.yaml.
func dumped() []runtime.Object {
	set, err := manifest.Reader{Mode: manifest.Lenient}.Read(root + "/examples/dump.yaml")
	if err != nil {
		panic(err)
	}
	var objects []runtime.Object
	for _, item := range set.Items {
		objects = append(objects, item.Object)
	}
	return objects
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
	if server.Live {
		roll(ts, server, !slices.Contains([]string{"idle", "viewing", "leased", "leaseless", "shaky", "lockless"}, args[0]))
	}
	namespace := "team"
	if args[0] == "dumped" {
		namespace = "default"
	}
	path, err := server.Kubeconfig(ts.MkAbs("."), namespace)
	ts.Check(err)
	ts.Setenv("KUBECONFIG", path)
	running.Store(ts, server)
	ts.Defer(func() { running.Delete(ts) })
}

// roll lets pods live and, where there are any, controllers act.
func roll(ts *testscript.TestScript, server *livetest.Server, controlled bool) {
	ctx, stop := context.WithCancel(context.Background())
	ts.Defer(stop)
	go server.Play(ctx, 300*time.Millisecond, 100*time.Millisecond)
	if !controlled {
		return
	}
	host, err := live.Start(ctx, &rest.Config{Host: server.URL()}, live.Options{}, deployment.Spec(rollout.LatestVersion), replicaset.Spec(rollout.LatestVersion))
	ts.Check(err)
	ts.Defer(func() { _ = host.Stop() })
	<-host.Ready()
}

// later acts a while after deployment/web has been changed.
func later(server *livetest.Server, delay time.Duration, do func()) {
	go func() {
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
			if d, ok := server.Get("deployments", "team", "web").(*appsv1.Deployment); ok && d.Generation > 1 {
				time.Sleep(delay)
				do()
				return
			}
		}
	}()
}

// edit makes somebody else's change a while after the first: edit DELAY REPLICAS.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	server := serverOf(ts)
	if len(args) != 2 {
		ts.Fatalf("usage: edit DELAY REPLICAS, after cluster")
	}
	after, err := time.ParseDuration(args[0])
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	later(server, after, func() {
		server.Edit("kubectl-edit", "deployments", "team", "web", func(obj runtime.Object) {
			replicas := int32(n)
			obj.(*appsv1.Deployment).Spec.Replicas = &replicas
		})
	})
}

// meanwhile lets something happen a while after the first change: meanwhile DELAY WHAT.
func meanwhile(ts *testscript.TestScript, _ bool, args []string) {
	server := serverOf(ts)
	if len(args) != 2 {
		ts.Fatalf("usage: meanwhile DELAY cut|compact|throttle|expire|remove|resume|publish, after cluster")
	}
	after, err := time.ParseDuration(args[0])
	ts.Check(err)
	credential := ts.MkAbs("credential.json")
	what := map[string]func(){
		"cut":      server.CutWatches, // as a restart of the API server does
		"compact":  server.Compact,
		"throttle": func() { server.CutWatches(); server.Throttle(3) },
		"remove":   func() { server.Remove("deployments", "team", "web") },
		"resume": func() {
			server.Edit("kubectl-rollout", "deployments", "team", "web", func(obj runtime.Object) { obj.(*appsv1.Deployment).Spec.Paused = false })
		},
		"publish": func() { // as another Deployment controller would
			server.Edit("kube-controller-manager", "deployments", "team", "web", func(obj runtime.Object) {
				d := obj.(*appsv1.Deployment)
				d.Status.ObservedGeneration, d.Status.UpdatedReplicas = 99, 0
			})
		},
		"expire": func() {
			_ = writeCredential(credential, "second") // it is seen when the token is not good
			server.Accept("second")
			server.CutWatches()
		},
	}[args[1]]
	if what == nil {
		ts.Fatalf("%s cannot happen", args[1])
	}
	later(server, after, what)
}

// midway waits until a rollout of deployment/web is in its midst: some new pods
// are there, and some old ones.
func midway(ts *testscript.TestScript, _ bool, _ []string) {
	server := serverOf(ts)
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if old, fresh := server.Count("pods", "team", isOf("app:1")), server.Count("pods", "team", isOf("app:2")); old > 0 && fresh > 3 {
			return
		}
	}
	ts.Fatalf("no rollout in its midst after a minute")
}

// paused waits until deployment/web is paused, and whoever did so has seen it.
func paused(ts *testscript.TestScript, _ bool, _ []string) {
	server := serverOf(ts)
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if d, ok := server.Get("deployments", "team", "web").(*appsv1.Deployment); ok && d.Spec.Paused {
			time.Sleep(time.Second)
			return
		}
	}
	ts.Fatalf("no pause after a minute")
}

func isOf(image string) func(runtime.Object) bool {
	return func(obj runtime.Object) bool {
		pod := obj.(*corev1.Pod)
		return pod.Labels["app"] == "web" && pod.Spec.Containers[0].Image == image
	}
}

// plugin makes the user's token one that a credential plugin gives: plugin.
func plugin(ts *testscript.TestScript, _ bool, _ []string) {
	path, credential := ts.Getenv("KUBECONFIG"), ts.MkAbs("credential.json")
	serverOf(ts).Accept("first")
	ts.Check(writeCredential(credential, "first"))
	config := strings.Replace(ts.ReadFile(path), "{token: test}",
		fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, args: [%q], interactiveMode: Never}}", credential), 1)
	ts.Check(os.WriteFile(path, []byte(config), 0o600))
}

func writeCredential(path, token string) error {
	return os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":%q}}`, token), 0o600)
}

// workload writes image, replicas and pause of deployment/web to stdout.
func workload(ts *testscript.TestScript, _ bool, _ []string) {
	d, ok := serverOf(ts).Get("deployments", "team", "web").(*appsv1.Deployment)
	if !ok {
		ts.Fatalf("there is no deployment/web")
	}
	_, err := fmt.Fprintf(ts.Stdout(), "image %s replicas %d paused %t generation %d\n", d.Spec.Template.Spec.Containers[0].Image, *d.Spec.Replicas, d.Spec.Paused, d.Generation)
	ts.Check(err)
}

// running is the server of each script.
var running sync.Map

func serverOf(ts *testscript.TestScript) *livetest.Server {
	server, ok := running.Load(ts)
	if !ok {
		ts.Fatalf("there is no cluster")
	}
	return server.(*livetest.Server)
}

// requests writes what the program has asked for so far to stdout: requests.
func requests(ts *testscript.TestScript, _ bool, _ []string) {
	server := serverOf(ts)
	_, err := ts.Stdout().Write([]byte(strings.Join(server.Requests(), "\n") + "\n"))
	ts.Check(err)
}

// beside is a line that is said beside the trace, with the lines it goes on in.
var beside = regexp.MustCompile(`(?m)^(next|note|paused|driver) .*\n( {11}\S.*\n)*`)

// sameTail checks that the first file ends with all of the second, but for
// what is said beside the trace: sametail REAL AGAIN.
func sameTail(ts *testscript.TestScript, _ bool, args []string) {
	real, again := beside.ReplaceAllString(ts.ReadFile(args[0]), ""), beside.ReplaceAllString(ts.ReadFile(args[1]), "")
	if again == "" || !strings.HasSuffix(real, again) {
		ts.Fatalf("it looked like this:\n%s\nand now:\n%s", real, again)
	}
}
