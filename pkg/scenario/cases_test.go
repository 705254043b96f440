package scenario_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// TestStories tells worlds in files of testdata/cases (what people met in public
// reports) and testdata/stories (our own). Each file begins with what it proves.
//
//	have                       objects that are there as they are: the input is manifests
//	settled [deployment words] objects applied and finished two hours ago: a Deployment web made of the words, and manifests (these alone where no word is)
//	run [words]                plays the input, the body of a Scenario, and prints what happens
//	show object=KIND/NAME [path=…]  prints an object as it is after the run, or a part of it
//	why object=KIND/NAME [type=PodChanged]  the causes of the last event of that type about the object, the first cause first
//	status                     what kubectl rollout status web says after the run
//
// Deployment words: replicas=3 image=web:v1 surge=25% unavailable=25%
// strategy=Recreate min-ready=0 deadline=600 history=10 grace=30 paused name=web.
//
// Words of run: timing=instant|cluster seed=1 limit=1h (the run ends early when
// nothing is left to happen), for=10m (runs so long in any case), version=v1.36,
// settled=2h, ready=10s, exit=0s, print=(sizes,conditions,counts,events,allevents,made,pods,nodes,evictions,writes,refusals,sums,passes,eventwrites); events
// are the Deployments', the autoscalers' and warnings, made counts pods created and deleted, sums are the
// arithmetic of Deployment passes, passes what ReplicaSet passes wrote to pods and eventwrites how many
// Events reached the API, errors the passes that failed. reach=(30,500) tells when so many pods had been created.
func TestStories(t *testing.T) {
	for _, dir := range []string{"testdata/cases", "testdata/stories"} {
		files, err := filepath.Glob(dir + "/*.txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				s := &story{t: t}
				datadriven.RunTest(t, file, s.run)
			})
		}
	}
}

// story is the state of one file.
type story struct {
	t       *testing.T
	have    []sim.Object
	settled []sim.Object
	world   *scenario.World
	log     *trace.Log
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	switch d.Cmd {
	case "have":
		s.have = append(s.have, s.objects(d)...)
	case "settled":
		objects := s.objects(d)
		if len(objects) == 0 || len(d.CmdArgs) > 0 {
			s.settled = append(s.settled, deploymentOf(d))
		}
		s.settled = append(s.settled, objects...)
	case "run":
		out := s.play(d)
		s.have, s.settled = nil, nil
		return out
	case "show":
		return s.show(d)
	case "status":
		return s.status(d)
	case "why":
		return s.why(d)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return ""
}

func (s *story) objects(d *datadriven.TestData) (out []sim.Object) {
	if strings.TrimSpace(d.Input) == "" {
		return nil
	}
	set, err := manifest.Decode(d.Cmd, []byte(d.Input), manifest.Strict)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	for _, item := range set.Items {
		out = append(out, item.Object)
	}
	return out
}

func word(d *datadriven.TestData, key, otherwise string) string {
	for _, arg := range d.CmdArgs {
		if arg.Key == key && len(arg.Vals) > 0 {
			return strings.Join(arg.Vals, ",")
		}
	}
	return otherwise
}

func number(d *datadriven.TestData, key string, otherwise int) int {
	n := intstr.Parse(word(d, key, fmt.Sprint(otherwise)))
	return n.IntValue()
}

func duration(t *testing.T, d *datadriven.TestData, key, otherwise string) time.Duration {
	out, err := time.ParseDuration(word(d, key, otherwise))
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return out
}

// deploymentOf is the Deployment of the cases' conventions with the words' changes.
func deploymentOf(d *datadriven.TestData) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	replicas := int32(number(d, "replicas", 1))
	out := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: word(d, "name", "web"), Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, MinReadySeconds: int32(number(d, "min-ready", 0)), Paused: d.HasArg("paused"),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.DeploymentStrategyType(word(d, "strategy", "RollingUpdate"))},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: word(d, "image", "web:v1")}}},
			},
		},
	}
	if out.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		surge, unavailable := intstr.Parse(word(d, "surge", "25%")), intstr.Parse(word(d, "unavailable", "25%"))
		out.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}
	}
	if grace := int64(number(d, "grace", 0)); grace > 0 {
		out.Spec.Template.Spec.TerminationGracePeriodSeconds = &grace
	}
	for key, field := range map[string]**int32{"deadline": &out.Spec.ProgressDeadlineSeconds, "history": &out.Spec.RevisionHistoryLimit} {
		if d.HasArg(key) {
			n := int32(number(d, key, 0))
			*field = &n
		}
	}
	return out
}

// parts is the world that a run asks for, made anew.
func (s *story) parts(d *datadriven.TestData, log *trace.Log) scenario.Parts {
	p := scenario.Parts{
		Seed: uint64(number(d, "seed", 1)), Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Log: log,
		Settled: duration(s.t, d, "settled", "2h"), Timing: sim.InstantTiming(),
		Pods: func(*corev1.Pod) kubelet.Profile {
			return kubelet.Profile{ReadyAfter: kubelet.Exactly(duration(s.t, d, "ready", "10s")), ExitAfter: kubelet.Exactly(duration(s.t, d, "exit", "0s"))}
		},
	}
	if word(d, "timing", "instant") == "cluster" {
		p.Timing = sim.ClusterTiming()
	}
	version, err := rollout.ParseVersion(word(d, "version", "v1.37"))
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	p.Version = version
	if err := yaml.UnmarshalStrict([]byte(d.Input), &p.Story); err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	return p
}

func (s *story) play(d *datadriven.TestData) string {
	log := trace.NewLog()
	world, err := scenario.NewWorld(s.parts(d, log))
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	s.world, s.log = world, log
	ctx := context.Background()
	if err := world.Load(s.withNodes()...); err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	if len(s.settled) > 0 {
		if err := world.Settle(ctx, s.settled...); err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
	}
	goal := engine.Goal{Limit: duration(s.t, d, "limit", "1h"), Workloads: s.workloads(d)}
	if d.HasArg("for") {
		goal.Limit, goal.WholeLimit = duration(s.t, d, "for", "0s"), true
	}
	outcome, err := world.Run(ctx, goal)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	if err := sim.Check(log.Events()); err != nil && len(s.parts(d, nil).Story.WatchDelays) == 0 {
		return fmt.Sprintf("error: %v\n", err)
	}
	teller := newTeller(word(d, "print", "sizes,conditions"))
	teller.reach = strings.Split(word(d, "reach", ""), ",")
	teller.tell(log.Events())
	teller.end(outcome, world)
	return teller.out.String()
}

// withNodes adds three roomy nodes where the story has none.
func (s *story) withNodes() []sim.Object {
	for _, obj := range s.have {
		if _, ok := obj.(*corev1.Node); ok {
			return s.have
		}
	}
	return append([]sim.Object{node("node-1", "2000"), node("node-2", "2000"), node("node-3", "2000")}, s.have...)
}

// workloads are the Deployments the run is about: those that are there, or else
// web when a step makes it.
func (s *story) workloads(d *datadriven.TestData) (out []trace.Ref) {
	for _, obj := range s.world.Stored().List(sim.Deployments, "") {
		out = append(out, sim.RefOf(obj))
	}
	if len(out) == 0 && strings.Contains(d.Input, "kind: Deployment") {
		out = append(out, trace.Ref{Kind: "Deployment", Namespace: "default", Name: "web"})
	}
	return out
}

// show prints an object, or what stands at a path of it, as YAML.
func (s *story) show(d *datadriven.TestData) string {
	kind, name, _ := strings.Cut(word(d, "object", ""), "/")
	resource, ok := sim.Resource(kind)
	if !ok || s.world == nil {
		d.Fatalf(s.t, "show object=Kind/name after a run")
	}
	namespace := "default"
	if kind == "Node" {
		namespace = ""
	}
	var out strings.Builder
	for _, obj := range s.world.Stored().List(resource, namespace) {
		if ok, _ := filepath.Match(name, obj.GetName()); !ok {
			continue
		}
		fmt.Fprintf(&out, "%s/%s", kind, obj.GetName())
		for _, path := range strings.Split(word(d, "path", ""), ",") {
			fmt.Fprintf(&out, "  %s=%s", path, at(obj, path))
		}
		out.WriteString("\n")
	}
	if out.Len() == 0 {
		return "none\n"
	}
	return out.String()
}
