package deployment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// selecting is a cached Deployment whose UID is its name and "-uid".
func selecting(name string, selector metav1.LabelSelector) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name + "-uid")}}
	d.Spec.Selector = &selector
	return d
}

// setOf is a ReplicaSet with a label app, controlled by a Deployment unless that is empty.
func setOf(owner, app, version string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: "rs", Namespace: "default", UID: "rs-uid", ResourceVersion: version, Labels: map[string]string{"app": app}}}
	if owner != "" {
		d := selecting(owner, metav1.LabelSelector{})
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, rollout.DeploymentKind)}
	}
	return rs
}

func TestObserve(t *testing.T) {
	web := metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	invalid := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	recreate := selecting("recreate", web)
	recreate.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	deployments := []object{selecting("a", web), selecting("all", metav1.LabelSelector{}), selecting("broken", invalid), recreate}

	going := setOf("a", "web", "1")
	going.DeletionTimestamp = &metav1.Time{}
	goingOrphan := setOf("", "web", "1")
	goingOrphan.DeletionTimestamp = &metav1.Time{}
	bare := setOf("", "web", "1")
	bare.Labels = nil
	reborn := setOf("a", "web", "1")
	reborn.OwnerReferences[0].UID = "other"
	podOf := func(kind string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(setOf("", "", ""), appsv1.SchemeGroupVersion.WithKind(kind))}
		return p
	}

	for name, tc := range map[string]struct {
		v      rollout.Version
		cached object
		change engine.Change
		want   string
	}{
		"Deployment added":                 {37, nil, engine.Change{Verb: engine.Added, New: selecting("a", web)}, "a"},
		"Deployment unchanged":             {37, nil, engine.Change{Verb: engine.Modified, Old: deployments[0], New: deployments[0]}, "a"},
		"Deployment deleted":               {37, nil, engine.Change{Verb: engine.Deleted, New: selecting("gone", web)}, "gone"},
		"owned set added":                  {37, nil, engine.Change{Verb: engine.Added, New: setOf("a", "db", "1")}, "a"},
		"set of a namesake":                {37, nil, engine.Change{Verb: engine.Added, New: reborn}, ""},
		"set being deleted added":          {37, nil, engine.Change{Verb: engine.Added, New: going}, "a"},
		"orphan being deleted added":       {37, nil, engine.Change{Verb: engine.Added, New: goingOrphan}, ""},
		"orphan added":                     {37, nil, engine.Change{Verb: engine.Added, New: setOf("", "web", "1")}, "a recreate"},
		"orphan beside a broken one, 1.22": {22, nil, engine.Change{Verb: engine.Added, New: setOf("", "web", "1")}, ""},
		"orphan without labels":            {37, nil, engine.Change{Verb: engine.Added, New: bare}, ""},
		"resync":                           {37, nil, engine.Change{Verb: engine.Modified, Old: setOf("a", "web", "1"), New: setOf("a", "web", "1")}, ""},
		"set changed":                      {37, nil, engine.Change{Verb: engine.Modified, Old: setOf("a", "web", "1"), New: setOf("a", "web", "2")}, "a"},
		"set changed hands":                {37, nil, engine.Change{Verb: engine.Modified, Old: setOf("all", "web", "1"), New: setOf("a", "web", "2")}, "all a"},
		"set released":                     {37, nil, engine.Change{Verb: engine.Modified, Old: setOf("all", "web", "1"), New: setOf("", "web", "2")}, "all a recreate"},
		"orphan relabelled":                {37, nil, engine.Change{Verb: engine.Modified, Old: setOf("", "db", "1"), New: setOf("", "web", "2")}, "a recreate"},
		"orphan changed otherwise":         {37, nil, engine.Change{Verb: engine.Modified, Old: setOf("", "web", "1"), New: setOf("", "web", "2")}, ""},
		"set deleted":                      {37, nil, engine.Change{Verb: engine.Deleted, New: setOf("a", "web", "2")}, "a"},
		"orphan deleted":                   {37, nil, engine.Change{Verb: engine.Deleted, New: setOf("", "web", "2")}, ""},
		"pod of Recreate deleted":          {37, setOf("recreate", "web", "1"), engine.Change{Verb: engine.Deleted, New: podOf("ReplicaSet")}, "recreate"},
		"pod of Recreate changed":          {37, setOf("recreate", "web", "1"), engine.Change{Verb: engine.Modified, Old: podOf("ReplicaSet"), New: podOf("ReplicaSet")}, ""},
		"pod of RollingUpdate deleted":     {37, setOf("a", "web", "1"), engine.Change{Verb: engine.Deleted, New: podOf("ReplicaSet")}, ""},
		"pod of something else deleted":    {37, setOf("recreate", "web", "1"), engine.Change{Verb: engine.Deleted, New: podOf("StatefulSet")}, ""},
		"pod of an unknown set deleted":    {37, nil, engine.Change{Verb: engine.Deleted, New: podOf("ReplicaSet")}, ""},
	} {
		w := newWorld(tc.v)
		w.cached.objects = append(w.cached.objects, deployments...)
		if tc.cached != nil {
			w.cached.put(tc.cached)
		}
		w.controller.Observe(w.env(), tc.change)
		var woken []string
		for _, key := range w.queue.ready {
			woken = append(woken, key.Name)
		}
		if diff := cmp.Diff(tc.want, strings.Join(woken, " ")); diff != "" {
			t.Errorf("%s: woken (-want +got):\n%s", name, diff)
		}
	}
}
