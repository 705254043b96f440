package apply

import (
	"strings"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func TestShare(t *testing.T) {
	for _, c := range []struct {
		text    string
		desired int32
		want    int32 // -1: refused
	}{
		{"25%", 10, 3}, {"1%", 10, 1}, {"100%", 10, 10}, {"50%", 3, 2}, {"3", 10, 3}, {"30", 10, 10},
		{"0", 10, -1}, {"0%", 10, -1}, {"101%", 10, -1}, {"-1", 10, -1}, {"x", 10, -1}, {"%", 10, -1},
	} {
		share, err := ParseShare(c.text)
		got := share.Of(c.desired)
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s of %d: %d, want %d", c.text, c.desired, got, c.want)
		}
	}
	if share, err := ParseShare(""); err != nil || share.Given {
		t.Errorf("nothing is given: %v, %v", share, err)
	}
}

// A saved plan holds only for the workload that it was made of, as it was.
func TestBases(t *testing.T) {
	at := trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
	base := v1alpha1.Base{Object: at, UID: "a", ResourceVersion: "7", Generation: 2}
	with := func(change func(*v1alpha1.Base)) []v1alpha1.Base {
		b := base
		change(&b)
		return []v1alpha1.Base{b}
	}
	none := []v1alpha1.Base{{Object: at}}
	for _, c := range []struct {
		was, is []v1alpha1.Base
		want    string
	}{
		{with(func(*v1alpha1.Base) {}), []v1alpha1.Base{base}, ""},
		{none, none, ""},
		{none, []v1alpha1.Base{base}, "has been created since"},
		{[]v1alpha1.Base{base}, none, "has been deleted since"},
		{[]v1alpha1.Base{base}, with(func(b *v1alpha1.Base) { b.UID = "b" }), "deleted and created anew"},
		{[]v1alpha1.Base{base}, with(func(b *v1alpha1.Base) { b.Generation, b.ResourceVersion = 3, "9" }), "generation 2, now 3"},
		{[]v1alpha1.Base{base}, with(func(b *v1alpha1.Base) { b.ResourceVersion = "8" }), "resourceVersion 7, now 8"},
	} {
		err := checkBases(c.was, c.is)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("refused: %v", err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
