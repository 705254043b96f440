package kubectl

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var (
	start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	web   = trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
)

func team() []runtime.Object {
	return livetest.Rollout{Namespace: "team", Name: "web", Pods: 4, Created: start}.Objects()
}

// applied is a Deployment as kubectl apply has left it, with replicas in the manifest.
func applied() []runtime.Object {
	objects := team()
	objects[0].(*appsv1.Deployment).Annotations[corev1.LastAppliedConfigAnnotation] =
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"team"},"spec":{"replicas":4}}`
	return objects
}

const webManifest = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"app:2"}]}}}}`

func manifests(opts ApplyOptions) Manifests {
	return Manifests{Documents: []Document{{JSON: []byte(webManifest), Source: "web.yaml"}}, Namespace: "team", Options: opts}
}

// told is a rehearsal's kubectl, its server and what it is warned of.
type told struct {
	*Kubectl
	server   *livetest.Server
	read     int // requests before the rehearsal
	warnings []string
}

// inTeam is what a developer of one namespace may do.
func inTeam(_, resource, namespace string) bool {
	return namespace == "team" && slices.Contains([]string{"deployments", "deployments/scale", "replicasets", "pods"}, resource) || resource == "namespaces"
}

// rehearse reads a server's objects, as a plan does, and may then ask about a change.
func rehearse(t *testing.T, server *livetest.Server) *told {
	t.Helper()
	if server.Allowed == nil {
		server.Allowed = inTeam
	}
	server.Start()
	t.Cleanup(server.Close)
	path, err := server.Kubeconfig(t.TempDir(), "team")
	if err != nil {
		t.Fatal(err)
	}
	flags, cache := genericclioptions.NewConfigFlags(true), t.TempDir()
	flags.KubeConfig, flags.CacheDir = &path, &cache
	cluster, err := live.Connect(flags)
	if err != nil {
		t.Fatal(err)
	}
	known, err := cluster.Read(t.Context(), live.Query{Workloads: []trace.Ref{web}, MayBeMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	out := &told{server: server, read: len(server.Requests())}
	if slices.Contains(server.Requests(), theNamespace) {
		out.read--
	}
	out.Kubectl = &Kubectl{Getter: flags, DryRun: DryRunServer, Known: known, Warn: func(text string) { out.warnings = append(out.warnings, text) }}
	return out
}

// theNamespace is what kubectl itself asks before it creates something in it.
const theNamespace = "GET /api/v1/namespaces/team"

// asked are the writes since the reading: nothing but the namespace of what is
// to be created is read again, and all is few.
func (r *told) asked(t *testing.T) []string {
	t.Helper()
	all := r.server.Requests()
	if len(all) > 10 {
		t.Errorf("%d requests in all, want at most 10", len(all))
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == theNamespace })
	writes := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.HasPrefix(s, "GET ") })
	if len(all) != r.read+len(writes) {
		t.Errorf("%d requests were read, then came %d and %d writes: something was asked again\n%s", r.read, len(all), len(writes), strings.Join(all, "\n"))
	}
	return writes
}

const deployments = "/apis/apps/v1/namespaces/team/deployments"

// A field that was applied before and is gone from the manifest goes away; what
// is there besides stays.
func TestApplyMerges(t *testing.T) {
	r := rehearse(t, &livetest.Server{Objects: applied()})
	answer, err := r.Apply(manifests(ApplyOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	d := answer.Object.(*appsv1.Deployment)
	if *d.Spec.Replicas != 1 || d.Spec.Template.Spec.Containers[0].Image != "app:2" || len(d.Spec.Template.Spec.Containers[0].Env) != 1 {
		t.Errorf("%d replicas, containers %+v", *d.Spec.Replicas, d.Spec.Template.Spec.Containers)
	}
	want := "PATCH " + deployments + "/web?dryRun=All&fieldManager=kubectl-client-side-apply&fieldValidation=Strict"
	if got := r.asked(t); !slices.Equal(got, []string{want}) {
		t.Errorf("requests %q", got)
	}
	if answer.Said != "deployment.apps/web configured (server dry run)\n" || len(r.warnings) > 0 {
		t.Errorf("said %q, warned %q", answer.Said, r.warnings)
	}
}

func TestApplyRequests(t *testing.T) {
	for name, test := range map[string]struct {
		objects []runtime.Object
		opts    ApplyOptions
		want    string
	}{
		"create":         {nil, ApplyOptions{}, "POST " + deployments + "?dryRun=All&fieldManager=kubectl-client-side-apply&fieldValidation=Strict"},
		"manager":        {nil, ApplyOptions{FieldManager: "ci"}, "POST " + deployments + "?dryRun=All&fieldManager=ci&fieldValidation=Strict"},
		"server side":    {applied(), ApplyOptions{ServerSide: true, FieldManager: "ci"}, "PATCH " + deployments + "/web?dryRun=All&fieldManager=ci&fieldValidation=Strict&force=false"},
		"take them over": {team(), ApplyOptions{ServerSide: true, ForceConflicts: true}, "PATCH " + deployments + "/web?dryRun=All&fieldManager=kubectl&fieldValidation=Strict&force=true"},
	} {
		r := rehearse(t, &livetest.Server{Objects: test.objects})
		answer, err := r.Apply(manifests(test.opts))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := r.asked(t); !slices.Equal(got, []string{test.want}) {
			t.Errorf("%s: requests %q", name, got)
		}
		if d := answer.Object.(*appsv1.Deployment); d.Namespace != "team" && test.objects != nil || d.Kind != "Deployment" {
			t.Errorf("%s: answered %s %s/%s", name, d.Kind, d.Namespace, d.Name)
		}
	}
}

// What was not applied before is warned of in kubectl's words.
func TestApplyWarns(t *testing.T) {
	r := rehearse(t, &livetest.Server{Objects: team()})
	if _, err := r.Apply(manifests(ApplyOptions{})); err != nil {
		t.Fatal(err)
	}
	if len(r.warnings) != 1 || !strings.HasPrefix(r.warnings[0], "resource deployments/web is missing the kubectl.kubernetes.io/last-applied-configuration annotation") {
		t.Errorf("warnings %q", r.warnings)
	}
}

// The verbs send what kubectl's send, and the answer is kept whatever they
// make of it.
func TestChangeRequests(t *testing.T) {
	three, last := int32(3), int64(0)
	old := livetest.Rollout{Namespace: "team", Name: "web", Pods: 4, Created: start}.Objects()[1].(*appsv1.ReplicaSet)
	old.Name, old.UID = "web-old", "old"
	old.Spec.Template.Spec.Containers[0].Image = "app:0"
	old.Annotations["deployment.kubernetes.io/revision"] = "0"
	for name, test := range map[string]struct {
		set   change.Set
		want  string
		image string // of the answer; empty where it is only a yes
	}{
		"image":    {change.Set{Images: []change.Image{{Container: "app", Image: "app:2"}}}, "PATCH " + deployments + "/web?dryRun=All&fieldManager=kubectl-set", "app:2"},
		"restart":  {change.Set{Restart: true}, "PATCH " + deployments + "/web?dryRun=All&fieldManager=kubectl-rollout", "app:1"},
		"pause":    {change.Set{Pause: true}, "PATCH " + deployments + "/web?dryRun=All&fieldManager=kubectl-rollout", "app:1"},
		"replicas": {change.Set{Replicas: &three}, "PATCH " + deployments + "/web/scale?dryRun=All", ""},
		"undo":     {change.Set{Undo: &last}, "PATCH " + deployments + "/web?dryRun=All", "app:0"},
		"both":     {change.Set{Replicas: &three, Images: []change.Image{{Container: "app", Image: "app:3"}}}, "PATCH " + deployments + "/web?dryRun=All&fieldManager=kubectl-rollout", "app:3"},
	} {
		r := rehearse(t, &livetest.Server{Objects: append(team(), old)})
		answer, err := r.Change(context.Background(), test.set, web)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := r.asked(t); !slices.Equal(got, []string{test.want}) {
			t.Errorf("%s: requests %q", name, got)
		}
		image := ""
		if d, ok := answer.Object.(*appsv1.Deployment); ok {
			image = d.Spec.Template.Spec.Containers[0].Image
		}
		if image != test.image || !answer.Sent {
			t.Errorf("%s: answered with image %q, want %q", name, image, test.image)
		}
	}
}

// A change that changes nothing is not sent.
func TestNothingToSend(t *testing.T) {
	r := rehearse(t, &livetest.Server{Objects: team()})
	answer, err := r.Change(context.Background(), change.Set{Images: []change.Image{{Container: "app", Image: "app:1"}}}, web)
	if err != nil || answer.Sent || len(r.asked(t)) > 0 {
		t.Errorf("sent %t: %v", answer.Sent, err)
	}
}

// What a user may not do is told apart from what admission refuses; the error
// has the server's words in both cases.
func TestRefusals(t *testing.T) {
	three, last := int32(3), int64(0)
	reads := func(verb, _, _ string) bool { return verb == "get" || verb == "list" }
	for name, test := range map[string]struct {
		do     func(*told) (Outcome, error)
		denied string
	}{
		"apply":   {func(r *told) (Outcome, error) { return r.Apply(manifests(ApplyOptions{})) }, "patch deployments"},
		"restart": {func(r *told) (Outcome, error) { return r.Change(t.Context(), change.Set{Restart: true}, web) }, "patch deployments"},
		"scale":   {func(r *told) (Outcome, error) { return r.Change(t.Context(), change.Set{Replicas: &three}, web) }, "patch deployments/scale"},
		"undo":    {func(r *told) (Outcome, error) { return r.Change(t.Context(), change.Set{Undo: &last}, web) }, ""}, // there is no history to go back to
	} {
		r := rehearse(t, &livetest.Server{Objects: team(), Allowed: reads})
		if answer, err := test.do(r); answer.Denied != test.denied || err == nil || test.denied != "" && !strings.Contains(err.Error(), `User "dev" cannot patch resource "`+strings.TrimPrefix(test.denied, "patch ")) {
			t.Errorf("%s: denied %q: %v", name, answer.Denied, err)
		}
	}
	no := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden,
		Reason: metav1.StatusReasonForbidden, Message: `admission webhook "a" denied the request: no`}
	r := rehearse(t, &livetest.Server{Objects: team(), Refuse: func(string) *metav1.Status { return no }})
	answer, err := r.Apply(manifests(ApplyOptions{}))
	if want := `Error from server (Forbidden): error when patching "web.yaml": admission webhook "a" denied the request: no`; answer.Denied != "" || err == nil || err.Error() != want {
		t.Errorf("denied %q: %v", answer.Denied, err)
	}
}
