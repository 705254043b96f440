// Package scheduler holds the simulated scheduler against the real one: its
// filters and scores in process, and its choices on a real control plane.
package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
)

// nobody is nominated in these worlds.
type nobody struct{}

func (nobody) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (nobody) DeleteNominatedPodIfExists(*corev1.Pod)                        {}
func (nobody) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo)      {}
func (nobody) NominatedPodsForNode(string) []fwk.PodInfo                     { return nil }

// real is upstream's scheduling framework with its default profile over a world.
type real struct {
	framework.Framework
	snapshot *cache.Snapshot
}

// upstream makes the framework see the world as it is now.
func upstream(ctx context.Context, t *testing.T, world sim.Reader) real {
	var pods []*corev1.Pod
	var nodes []*corev1.Node
	var objects []runtime.Object
	for _, resource := range resources {
		for _, obj := range world.List(resource, "") {
			objects = append(objects, obj)
			switch o := obj.(type) {
			case *corev1.Node:
				nodes = append(nodes, o)
			case *corev1.Pod:
				if o.Spec.NodeName != "" {
					pods = append(pods, o)
				}
			}
		}
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	snapshot := cache.NewSnapshot(pods, nodes)
	metrics.Register()
	fw, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), defaultProfile(t),
		frameworkruntime.WithClientSet(client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot), frameworkruntime.WithMutableSnapshotLister(snapshot),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodNominator(nobody{}), frameworkruntime.WithEventRecorder(events.NewFakeRecorder(100)),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
	)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return real{fw, snapshot}
}

// defaultProfile is the one a kube-scheduler without configuration has. Claims
// of devices, which no pod here has, need a manager of their own and are left out.
func defaultProfile(t *testing.T) *config.KubeSchedulerProfile {
	cfg, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	profile := cfg.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool {
		return p.Name == names.DynamicResources
	})
	return &profile
}

// assess runs the filter and score phases for a pod, node by node, and says what
// the pod would be told when no node takes it.
func (r real) assess(ctx context.Context, t *testing.T, pod *corev1.Pod) (out map[string]scheduler.Assessment, message string) {
	state := framework.NewCycleState()
	infos, err := r.snapshot.NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	refused := framework.NewDefaultNodeToStatus()
	diagnosis := framework.Diagnosis{NodeToStatus: refused}
	out = map[string]scheduler.Assessment{}
	only, status, by := r.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			t.Fatal(status.AsError())
		}
		refused.SetAbsentNodesStatus(status)
		diagnosis.PreFilterMsg = status.Message()
	} else if !only.AllNodes() {
		status = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by)))
		refused.SetAbsentNodesStatus(status)
	}
	var fits []fwk.NodeInfo
	for _, info := range infos {
		name := info.Node().Name
		verdict := status
		if status.IsSuccess() || diagnosis.PreFilterMsg == "" && only.NodeNames.Has(name) {
			if verdict = r.RunFilterPlugins(ctx, state, pod, info); !verdict.IsSuccess() {
				refused.Set(name, verdict)
			}
		}
		if verdict.IsSuccess() {
			out[name] = scheduler.Assessment{Node: name}
			fits = append(fits, info)
			continue
		}
		out[name] = scheduler.Assessment{Node: name, Reasons: verdict.Reasons(), Unresolvable: verdict.Code() == fwk.UnschedulableAndUnresolvable}
	}
	if len(fits) == 0 {
		return out, r.failure(ctx, state, pod, diagnosis, len(infos))
	}
	if len(fits) > 1 {
		r.score(ctx, t, state, pod, fits, out)
	}
	return out, ""
}

func (r real) failure(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, d framework.Diagnosis, nodes int) string {
	_, status := r.RunPostFilterPlugins(ctx, state, pod, d.NodeToStatus)
	d.PostFilterMsg = status.Message()
	return (&framework.FitError{Pod: pod, NumAllNodes: nodes, Diagnosis: d}).Error()
}

func (r real) score(ctx context.Context, t *testing.T, state fwk.CycleState, pod *corev1.Pod, fits []fwk.NodeInfo, out map[string]scheduler.Assessment) {
	if status := r.RunPreScorePlugins(ctx, state, pod, fits); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	scores, status := r.RunScorePlugins(ctx, state, pod, fits)
	if !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	for _, s := range scores {
		a := out[s.Name]
		a.Score = s.TotalScore
		out[s.Name] = a
	}
}
