package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNewReplicaSetAnnotations(t *testing.T) {
	hundreds := strings.Repeat("100,", 499) + "100" // 1999 bytes
	type m = map[string]string
	for name, tc := range map[string]struct {
		d, rs   m
		next    int64
		exists  bool
		want    m
		changed bool
	}{
		"made new": {m{"team": "blue", "kubectl.kubernetes.io/last-applied-configuration": "{}"}, nil, 1, false,
			m{"team": "blue", RevisionAnnotation: "1", DesiredReplicasAnnotation: "10", MaxReplicasAnnotation: "13"}, true},
		"as it should be": {m{"team": "blue"}, m{"team": "blue", "mine": "x", RevisionAnnotation: "2"}, 2, true,
			m{"team": "blue", "mine": "x", RevisionAnnotation: "2"}, false},
		"never lowered":     {nil, m{RevisionAnnotation: "5"}, 2, true, m{RevisionAnnotation: "5"}, false},
		"empty value":       {m{"note": ""}, m{RevisionAnnotation: "2"}, 2, true, m{"note": "", RevisionAnnotation: "2"}, true},
		"reused":            {nil, m{RevisionAnnotation: "1"}, 3, true, m{RevisionAnnotation: "3", RevisionHistoryAnnotation: "1"}, true},
		"reused once more":  {nil, m{RevisionAnnotation: "3", RevisionHistoryAnnotation: "1"}, 5, true, m{RevisionAnnotation: "5", RevisionHistoryAnnotation: "1,3"}, true},
		"adopted, had none": {nil, nil, 1, true, m{RevisionAnnotation: "1"}, true},
		"no integer": {m{"team": "blue"}, m{RevisionAnnotation: "first"}, 2, true,
			m{"team": "blue", RevisionAnnotation: "first"}, false},
		"long history": {nil, m{RevisionAnnotation: "7", RevisionHistoryAnnotation: hundreds}, 9, true,
			m{RevisionAnnotation: "9", RevisionHistoryAnnotation: hundreds[4:] + ",7"}, true},
	} {
		d := rolling(10, "3", "2")
		d.Annotations = tc.d
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Annotations: tc.rs}}
		before := rs.DeepCopy()
		got, changed := NewReplicaSetAnnotations(d, rs, tc.next, tc.exists)
		if diff := cmp.Diff(tc.want, got); diff != "" || changed != tc.changed {
			t.Errorf("%s: changed %v, want %v; (-want +got):\n%s", name, changed, tc.changed, diff)
		}
		if diff := cmp.Diff(before, rs); diff != "" {
			t.Errorf("%s changed its argument:\n%s", name, diff)
		}
	}
}

func revised(name, revision string, second int64) *appsv1.ReplicaSet {
	rs := set(name, second, 0, 0)
	rs.Annotations = map[string]string{RevisionAnnotation: revision}
	return rs
}

func TestRevisions(t *testing.T) {
	all := []*appsv1.ReplicaSet{revised("a", "2", 1), revised("b", "x", 2), revised("c", "4", 3), revised("d", "1", 4)}
	if next, last := NextRevision(all), LastRevision(all); next != 5 || last != 2 {
		t.Errorf("got next %d, last %d, want 5, 2", next, last)
	}
	if last := LastRevision([]*appsv1.ReplicaSet{revised("a", "3", 1), revised("b", "3", 2)}); last != 3 {
		t.Errorf("two of the highest revision: got last %d, want 3", last)
	}
	if next, last := NextRevision(nil), LastRevision(nil); next != 1 || last != 0 {
		t.Errorf("none: got next %d, last %d, want 1, 0", next, last)
	}
}

func TestPlanHistory(t *testing.T) {
	busy := revised("busy", "1", 1)
	busy.Status.Replicas = 1
	unobserved := revised("unobserved", "2", 2)
	unobserved.Generation = 1
	going := revised("going", "0", 0)
	going.DeletionTimestamp = &metav1.Time{}
	old := []*appsv1.ReplicaSet{going, revised("late", "9", 3), revised("c", "3", 7), unobserved, busy, revised("d", "4", 6)}
	for limit, want := range map[int32]string{0: "c d late", 1: "c d", 2: "c", 3: "", 5: "", 1<<31 - 1: ""} {
		d := rolling(1, "1", "1")
		d.Spec.RevisionHistoryLimit = &limit
		victims, _ := PlanHistory(d, old)
		var names []string
		for _, rs := range victims {
			names = append(names, rs.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}

func TestRolledBack(t *testing.T) {
	d := rolling(1, "1", "1")
	d.Annotations = map[string]string{"kubernetes.io/change-cause": "edit", RevisionAnnotation: "2", "gone": "soon", appsv1.DeprecatedRollbackTo: "1"}
	rs := set("old", 1, 1, 1)
	rs.Annotations = map[string]string{"kubernetes.io/change-cause": "create", RevisionAnnotation: "1", DesiredReplicasAnnotation: "1"}
	rs.Spec.Template.Labels = map[string]string{"app": "web", "pod-template-hash": "abc"}
	rs.Spec.Template.Spec.NodeName = "n"
	got := WithoutRollback(RolledBack(d, rs))
	want := map[string]string{"kubernetes.io/change-cause": "create", RevisionAnnotation: "2"}
	if diff := cmp.Diff(want, got.Annotations); diff != "" {
		t.Error(diff)
	}
	if got.Spec.Template.Spec.NodeName != "n" || len(got.Spec.Template.Labels) != 1 || len(d.Annotations) != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestSplit(t *testing.T) {
	d := rolling(1, "1", "1")
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	match := func(name string, second int64) *appsv1.ReplicaSet {
		rs := set(name, second, 1, 1)
		rs.Spec.Template.Labels = map[string]string{"app": "web", "pod-template-hash": name}
		return rs
	}
	owned := []*appsv1.ReplicaSet{match("twin", 5), set("other", 9, 1, 1), match("b", 2), match("a", 2)}
	sets := Split(d, owned)
	var names []string
	for _, rs := range sets.All() {
		names = append(names, rs.Name)
	}
	if got := strings.Join(names, " "); got != "b twin other a" || sets.New.Name != "a" {
		t.Errorf("got %q", got)
	}
	if owned[0].Name != "twin" {
		t.Error("Split sorted its argument")
	}
}

func TestProgressRecheck(t *testing.T) {
	start := time.Unix(1000, 0)
	d := rolling(1, "1", "1")
	seconds := int32(600)
	d.Spec.ProgressDeadlineSeconds = &seconds
	d.Status.Conditions = []appsv1.DeploymentCondition{NewProgressing("True", ReasonReplicaSetUpdated, "", start)}
	for now, want := range map[time.Duration]Recheck{
		0:                                 {Needed: true, After: 601 * time.Second},
		180 * time.Second:                 {Needed: true, After: 421 * time.Second},
		599 * time.Second:                 {Needed: true, After: 2 * time.Second},
		599*time.Second + time.Nanosecond: {Needed: true, Soon: true},
		601 * time.Second:                 {Needed: true, Soon: true},
	} {
		if got := ProgressRecheck(d, d.Status, start.Add(now)); got != want {
			t.Errorf("after %s: got %+v, want %+v", now, got, want)
		}
	}
	at := start.Add(600 * time.Second)
	if TimedOut(d, d.Status, at) || !TimedOut(d, d.Status, at.Add(time.Nanosecond)) {
		t.Error("a rollout times out after its deadline, not at it")
	}
	never := int32(1<<31 - 1)
	d.Spec.ProgressDeadlineSeconds = &never
	if got := ProgressRecheck(d, d.Status, start); got != (Recheck{}) || TimedOut(d, d.Status, start.Add(time.Hour)) {
		t.Errorf("without a deadline got %+v", got)
	}
}

func TestSetCondition(t *testing.T) {
	t0, t1 := time.Unix(0, 0), time.Unix(60, 0)
	first := SetCondition(nil, NewProgressing("True", ReasonNewReplicaSetCreated, "a", t0))
	both := SetCondition(first, newCondition(appsv1.DeploymentAvailable, "True", ReasonMinimumReplicasAvailable, "", t0))
	same := SetCondition(both, NewProgressing("True", ReasonNewReplicaSetCreated, "b", t1))
	if diff := cmp.Diff(both, same); diff != "" {
		t.Errorf("same status and reason changed it: %s", diff)
	}
	reason := SetCondition(both, NewProgressing("True", ReasonReplicaSetUpdated, "c", t1))
	if last := reason[1]; last.Type != appsv1.DeploymentProgressing || !last.LastTransitionTime.Time.Equal(t0) || !last.LastUpdateTime.Time.Equal(t1) {
		t.Errorf("another reason: got %+v", reason)
	}
	status := SetCondition(both, NewProgressing("False", ReasonProgressDeadlineExceeded, "d", t1))
	if last := status[1]; !last.LastTransitionTime.Time.Equal(t1) {
		t.Errorf("another status: got %+v", status)
	}
	if got := RemoveCondition(first, appsv1.DeploymentProgressing); got != nil {
		t.Errorf("removing the last one leaves %#v, not nil", got)
	}
}

func TestTerminatingReplicas(t *testing.T) {
	two := int32(2)
	known, fresh, silent := set("a", 1, 0, 0), set("b", 2, 0, 0), set("c", 3, 0, 0)
	known.Status.TerminatingReplicas = &two
	silent.Status.ObservedGeneration = 1
	d := rolling(0, "1", "1")
	count := func(v Version, old ...*appsv1.ReplicaSet) string {
		n := DeploymentStatus(d, Sets{Old: old}, v, time.Unix(0, 0)).TerminatingReplicas
		switch {
		case n == nil:
			return "unknown"
		case *n == 2:
			return "2"
		}
		return "other"
	}
	got := []string{count(37, known, fresh), count(37, known, silent), count(34, known)}
	if diff := cmp.Diff([]string{"2", "unknown", "unknown"}, got); diff != "" {
		t.Error(diff)
	}
}
