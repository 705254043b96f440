package live

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
)

// Names come from all pages, and from one namespace.
func TestNames(t *testing.T) {
	c := connect(t, &livetest.Server{Objects: team(1200)})
	for kind, want := range map[string]int{"Deployment": 1, "ReplicaSet": 1, "Pod": 1200} {
		names, err := c.Names(t.Context(), kind, "team")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		if n := len(slices.Compact(names)); n != want || slices.Contains(names, "") {
			t.Errorf("%s: %d names, want %d", kind, n, want)
		}
	}
	if names, err := c.Names(t.Context(), "Pod", "elsewhere"); err != nil || len(names) > 0 {
		t.Errorf("%d names elsewhere, %v", len(names), err)
	}
	nobody := &livetest.Server{Allowed: func(string, string, string) bool { return false }}
	if _, err := connect(t, nobody).Names(t.Context(), "Pod", "team"); !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want forbidden", err)
	}
}
