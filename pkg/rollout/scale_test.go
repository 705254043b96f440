package rollout

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"pgregory.net/rapid"
)

// sized notes on a ReplicaSet what it was last sized for.
func sized(rs *appsv1.ReplicaSet, desired, most string) *appsv1.ReplicaSet {
	rs.Annotations = map[string]string{DesiredReplicasAnnotation: desired, MaxReplicasAnnotation: most}
	return rs
}

// plan shows steps as "name from>to" in their order.
func plan(steps []Step) string {
	var out []string
	for _, s := range steps {
		out = append(out, fmt.Sprintf("%s %d>%d", s.ReplicaSet.Name, Size(s.ReplicaSet), s.To))
	}
	return strings.Join(out, ", ")
}

func TestPlanScaling(t *testing.T) {
	recreate := rolling(5, "1", "1")
	recreate.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	for name, tc := range map[string]struct {
		d      *appsv1.Deployment
		sets   Sets
		want   string
		wedged bool
	}{
		"10 to 15 in mid-rollout": {rolling(15, "3", "2"),
			Sets{New: sized(set("new", 2, 5, 5), "10", "13"), Old: []*appsv1.ReplicaSet{sized(set("old", 1, 8, 8), "10", "13")}},
			"old 8>11, new 5>7", false},
		"up: of equal sizes the newer first": {rolling(6, "1", "1"),
			Sets{New: sized(set("new", 2, 2, 2), "4", "4"), Old: []*appsv1.ReplicaSet{sized(set("old", 1, 2, 2), "4", "4")}},
			"new 2>4, old 2>3", false},
		"down: of equal sizes the older first": {rolling(3, "0", "1"),
			Sets{New: sized(set("new", 2, 3, 3), "6", "6"), Old: []*appsv1.ReplicaSet{sized(set("old", 1, 3, 3), "6", "6")}},
			"old 3>1, new 3>2", false},
		"to zero": {rolling(0, "3", "2"),
			Sets{New: sized(set("new", 2, 5, 5), "10", "13"), Old: []*appsv1.ReplicaSet{sized(set("old", 1, 8, 8), "10", "13")}},
			"old 8>0, new 5>0", false},
		"nothing to add still refreshes": {rolling(10, "3", "2"),
			Sets{New: sized(set("new", 2, 5, 5), "9", "12"), Old: []*appsv1.ReplicaSet{sized(set("old", 1, 8, 8), "9", "12")}},
			"old 8>8, new 5>5", false},
		"one active follows": {rolling(5, "1", "1"), Sets{New: sized(set("new", 2, 3, 3), "3", "4")}, "new 3>5", false},
		"none active, no new one: the newest": {rolling(5, "1", "1"),
			Sets{Old: []*appsv1.ReplicaSet{set("a", 1, 0, 0), set("b", 2, 0, 0)}}, "b 0>5", false},
		"wedged": {rolling(5, "1", "1"), Sets{New: sized(set("new", 2, 5, 5), "3", "4")}, "", true},
		"saturated": {rolling(5, "1", "1"),
			Sets{New: sized(set("new", 9, 5, 5), "5", "6"), Old: []*appsv1.ReplicaSet{set("a", 1, 2, 2), set("b", 2, 1, 1)}},
			"b 1>0, a 2>0", false},
		"Recreate with two active": {recreate,
			Sets{New: set("new", 2, 2, 2), Old: []*appsv1.ReplicaSet{set("old", 1, 2, 2)}}, "", false},
		"none at all": {rolling(5, "1", "1"), Sets{}, "", false},
	} {
		got := PlanScaling(tc.d, tc.sets, LatestVersion)
		if plan(got.Steps) != tc.want || (got.Wedged != nil) != tc.wedged {
			t.Errorf("%s: got %q, wedged %v; want %q, %v", name, plan(got.Steps), got.Wedged != nil, tc.want, tc.wedged)
		}
	}
}

// With max-replicas gone or 0 a release before 1.32 divided by zero.
func TestProportionWithoutABase(t *testing.T) {
	d := rolling(15, "3", "2")
	sets := Sets{New: sized(set("new", 2, 5, 5), "10", "0"), Old: []*appsv1.ReplicaSet{sized(set("old", 1, 8, 8), "10", "13")}}
	if got := plan(PlanProportional(d, sets, LatestVersion)); got != "old 8>13, new 5>5" {
		t.Errorf("no pods reported: got %q", got)
	}
	d.Status.Replicas = 13
	if got := plan(PlanProportional(d, sets, LatestVersion)); got != "old 8>11, new 5>7" {
		t.Errorf("13 pods reported: got %q", got)
	}
}

func TestIsScalingEvent(t *testing.T) {
	d := rolling(5, "1", "1")
	for name, tc := range map[string]struct {
		rs   *appsv1.ReplicaSet
		v    Version
		want bool
	}{
		"same":              {sized(set("a", 1, 5, 5), "5", "6"), LatestVersion, false},
		"other":             {sized(set("a", 1, 5, 5), "3", "4"), LatestVersion, true},
		"from zero":         {sized(set("a", 1, 0, 0), "0", "1"), LatestVersion, false},
		"unreadable":        {sized(set("a", 1, 5, 5), "many", "4"), LatestVersion, false},
		"negative, strict":  {sized(set("a", 1, 5, 5), "-3", "4"), LatestVersion, false},
		"negative, lenient": {sized(set("a", 1, 5, 5), "-3", "4"), 31, true},
		"missing":           {set("a", 1, 5, 5), LatestVersion, false},
	} {
		if got := IsScalingEvent(d, Sets{New: tc.rs}, tc.v); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// Proportional scaling ends at desired plus surge exactly, though a ReplicaSet
// may shrink while the whole grows, when it was sized for more than there is.
func TestProportionalScalingAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := rapid.Int32Range(1, 200).Draw(t, "was")
		surge := rapid.SampledFrom([]string{"0", "1", "25%", "100%"}).Draw(t, "surge")
		before := rolling(was, surge, "1")
		d := rolling(rapid.Int32Range(0, 300).Draw(t, "desired"), surge, "1")
		most := was + MaxSurge(before)
		sets := Sets{}
		for left, i := most, int64(0); left > 0 && i < 4; i++ {
			n := rapid.Int32Range(0, left).Draw(t, "size")
			sets.Old = append(sets.Old, sized(set(fmt.Sprint("rs", i), i%2, n, n), fmt.Sprint(was), fmt.Sprint(most)))
			left -= n
		}
		total := TotalSize(sets.Old)
		steps := PlanProportional(d, sets, LatestVersion)
		allowed := Desired(d) + MaxSurge(d)
		if Desired(d) == 0 {
			allowed = 0
		}
		after := int32(0)
		for _, s := range steps {
			after += s.To
			if s.To < 0 || s.To != Size(s.ReplicaSet)+s.Budget.Result {
				t.Fatalf("%d pods to %d: %s by %d", total, allowed, plan(steps), s.Budget.Result)
			}
		}
		// What rounding leaves may be more than the largest set has: it stops at 0.
		clipped := len(steps) > 0 && steps[0].To == 0 && after > allowed
		if len(steps) > 0 && after != allowed && !clipped {
			t.Fatalf("%d pods to %d ends at %d: %s", total, allowed, after, plan(steps))
		}
	})
}
