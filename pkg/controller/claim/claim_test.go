package claim

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

func owner() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "rs-uid"}}
}

func pod(name, app string, ownerUID types.UID) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", UID: types.UID(name + "-uid"), Labels: map[string]string{"app": app}}}
	if ownerUID != "" {
		rs := owner()
		rs.UID = ownerUID
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, replicaSetKind)}
	}
	return p
}

// world records what a Claimer does and answers its calls.
type world struct {
	log      []string
	fresh    *appsv1.ReplicaSet
	freshErr error
	patchErr map[string]error
}

func (w *world) Emit(object trace.Ref, d trace.Detail) trace.Seq {
	w.log = append(w.log, d.Type()+" "+object.String())
	return 0
}

func (w *world) claim(rs *appsv1.ReplicaSet, pods ...*corev1.Pod) ([]string, error) {
	c := Claimer[*corev1.Pod]{
		Owner: rs, OwnerKind: replicaSetKind, Kind: "Pod",
		Selector: labels.SelectorFromSet(labels.Set{"app": "web"}),
		Fresh: func(context.Context) (metav1.Object, error) {
			w.log = append(w.log, "GET")
			return w.fresh, w.freshErr
		},
		Patch: func(_ context.Context, p *corev1.Pod, data []byte) error {
			w.log = append(w.log, fmt.Sprintf("PATCH %s %s", p.Name, data))
			return w.patchErr[p.Name]
		},
		Trace: w,
	}
	claimed, err := c.Claim(context.Background(), pods)
	var names []string
	for _, p := range claimed {
		names = append(names, p.Name)
	}
	return names, err
}

const (
	adoptA   = `PATCH a {"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"rs-uid","controller":true,"blockOwnerDeletion":true}],"uid":"a-uid"}}`
	adoptB   = `PATCH b {"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"rs-uid","controller":true,"blockOwnerDeletion":true}],"uid":"b-uid"}}`
	releaseA = `PATCH a {"metadata":{"uid":"a-uid","ownerReferences":[{"$patch":"delete","uid":"rs-uid"}]}}`
)

func TestClaim(t *testing.T) {
	gone := func(name string) error {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
	}
	deleting := owner()
	deleting.DeletionTimestamp = &metav1.Time{}
	reborn := owner()
	reborn.UID = "other"
	dying := pod("a", "web", "")
	dying.DeletionTimestamp = &metav1.Time{}
	away := pod("a", "web", "")
	away.Namespace = "elsewhere"

	for name, tc := range map[string]struct {
		owner   *appsv1.ReplicaSet
		world   world
		pods    []*corev1.Pod
		claimed []string
		log     []string
		err     string
	}{
		"mine and others'": {owner(), world{}, []*corev1.Pod{pod("a", "web", "rs-uid"), pod("b", "web", "other"), pod("c", "db", "")},
			[]string{"a"}, nil, ""},
		"two orphans, one look": {owner(), world{fresh: owner()}, []*corev1.Pod{pod("a", "web", ""), pod("b", "web", "")},
			[]string{"a", "b"}, []string{"GET", adoptA, "Adopted Pod/default/a", adoptB, "Adopted Pod/default/b"}, ""},
		"released": {owner(), world{}, []*corev1.Pod{pod("a", "db", "rs-uid")},
			nil, []string{releaseA, "Released Pod/default/a"}, ""},
		"owner deleted": {deleting, world{}, []*corev1.Pod{pod("a", "web", ""), pod("b", "db", "rs-uid"), pod("c", "web", "rs-uid")},
			[]string{"c"}, nil, ""},
		"orphan deleted":   {owner(), world{}, []*corev1.Pod{dying}, nil, nil, ""},
		"orphan elsewhere": {owner(), world{}, []*corev1.Pod{away}, nil, nil, ""},
		"orphan gone": {owner(), world{fresh: owner(), patchErr: map[string]error{"a": gone("a")}}, []*corev1.Pod{pod("a", "web", "")},
			nil, []string{"GET", adoptA}, ""},
		"released one gone": {owner(), world{patchErr: map[string]error{"a": gone("a")}}, []*corev1.Pod{pod("a", "db", "rs-uid")},
			nil, []string{releaseA}, ""},
		"released one has no owner": {owner(), world{patchErr: map[string]error{"a": apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil)}},
			[]*corev1.Pod{pod("a", "db", "rs-uid")}, nil, []string{releaseA}, ""},
		"one fails, the other is taken": {owner(), world{fresh: owner(), patchErr: map[string]error{"a": errors.New("no")}},
			[]*corev1.Pod{pod("a", "web", ""), pod("b", "web", "")},
			[]string{"b"}, []string{"GET", adoptA, adoptB, "Adopted Pod/default/b"}, "no"},
		"owner found gone": {owner(), world{fresh: reborn}, []*corev1.Pod{pod("a", "web", "")}, nil, []string{"GET"},
			"can't adopt Pod default/a (a-uid): can't recheck DeletionTimestamp: original ReplicaSet default/web-1 is gone: got uid other, wanted rs-uid"},
		"owner not found": {owner(), world{freshErr: gone("web-1")}, []*corev1.Pod{pod("a", "web", "")}, nil, []string{"GET"},
			`can't adopt Pod default/a (a-uid): can't recheck DeletionTimestamp: pods "web-1" not found`},
		"owner found deleted": {owner(), world{fresh: deleting}, []*corev1.Pod{pod("a", "web", "")}, nil, []string{"GET"},
			"can't adopt Pod default/a (a-uid): default/web-1 has just been deleted at 0001-01-01 00:00:00 +0000 UTC"},
	} {
		claimed, err := tc.world.claim(tc.owner, tc.pods...)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tc.err {
			t.Errorf("%s: error %q, want %q", name, got, tc.err)
		}
		if diff := cmp.Diff(tc.claimed, claimed); diff != "" {
			t.Errorf("%s: claimed (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.log, tc.world.log); diff != "" {
			t.Errorf("%s: acts (-want +got):\n%s", name, diff)
		}
	}
}
