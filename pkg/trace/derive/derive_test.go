package derive

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// TestReplicaSetHanded: one write that puts a controller in another's place says
// both halves; steps that controllers take, and tell of themselves, say nothing.
func TestReplicaSetHanded(t *testing.T) {
	owned := func(kind, name, uid string) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1"}}
		if kind != "" {
			rs.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}}
		}
		return rs
	}
	web, thing := trace.Ref{Kind: "Deployment", Namespace: "ns", Name: "web"}, trace.Ref{Kind: "Thing", Namespace: "ns", Name: "it"}
	tests := map[string]struct {
		was, is *appsv1.ReplicaSet
		want    []trace.Detail
	}{
		"handed over":      {owned("Deployment", "web", "1"), owned("Thing", "it", "2"), []trace.Detail{trace.Released{Owner: web}, trace.Adopted{Owner: thing}}},
		"to one made anew": {owned("Deployment", "web", "1"), owned("Deployment", "web", "2"), []trace.Detail{trace.Released{Owner: web}, trace.Adopted{Owner: web}}},
		"kept":             {owned("Deployment", "web", "1"), owned("Deployment", "web", "1"), nil},
		"adopted":          {owned("", "", ""), owned("Deployment", "web", "1"), nil},
	}
	for name, test := range tests {
		var got []trace.Detail
		ReplicaSet(test.is, test.was, func(d trace.Detail) { got = append(got, d) })
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
