package sim

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// Lists that are kept from when one is first asked for are those of a table
// that kept them from the beginning.
func TestListsFromLaterOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNumbers()
		early, late := newTable(n), newTable(n)
		look := func(of *table) (out []string) {
			lists := map[string]*list{"all": of.everything()}
			for _, at := range []string{"a", "b"} {
				lists[at], lists[at+" orphans"] = of.in(at), of.ofOwner(owned{namespace: at})
				for _, owner := range []string{"x", "y"} {
					lists[at+owner] = of.ofOwner(owned{at, "ReplicaSet", owner, types.UID(at + owner)})
					lists[at+owner+" by UID"] = of.ofUID(types.UID(at + owner))
				}
			}
			for name, l := range lists {
				out = append(out, fmt.Sprint(name, names(l)))
			}
			slices.Sort(out)
			return out
		}
		look(early)
		for step := range rapid.IntRange(1, 80).Draw(t, "steps") {
			pod := &corev1.Pod{}
			pod.Namespace, pod.Name = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"), fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "name"))
			pod.ResourceVersion = fmt.Sprint(step)
			if owner := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "owner"); owner != "" {
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(pod.Namespace + owner), Controller: new(true)}}
			}
			goes := rapid.IntRange(0, 3).Draw(t, "goes") == 0
			for _, of := range []*table{early, late} {
				if goes {
					of.drop(n.of(pod))
				} else {
					of.set(n.of(pod), pod)
				}
			}
		}
		if was, is := look(early), look(late); !slices.Equal(was, is) {
			t.Fatalf("%v, want %v", is, was)
		}
	})
}

func names(l *list) (out []string) {
	for _, pod := range of[*corev1.Pod](l) {
		out = append(out, pod.Name+"@"+pod.ResourceVersion)
	}
	return out
}

// A name has a number of its own in each namespace, whichever was asked for last.
func TestNumbersOfNamespaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, want := newNumbers(), map[string]int{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			pod := &corev1.Pod{}
			pod.Namespace = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace")
			pod.Name = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "name")
			key := pod.Namespace + "/" + pod.Name
			number, given := want[key]
			if got, found := n.find(pod.Namespace, pod.Name); found != given || got != number {
				t.Fatalf("%s has number %d (%v), want %d (%v)", key, got, found, number, given)
			}
			if rapid.Bool().Draw(t, "store") {
				if !given {
					want[key] = len(want)
				}
				if got := n.of(pod); got != want[key] {
					t.Fatalf("%s was given number %d, want %d", key, got, want[key])
				}
			}
		}
	})
}

// A cache that wrote one list of pods over another holds on to none of the other.
func TestListsOfPods(t *testing.T) {
	s := New(Config{}).store
	for i := range 40 {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = fmt.Sprint("ns", min(i, 1)), fmt.Sprint(i)
		s.put(pods, pod, 0)
	}
	many := s.PodsIn("ns1")
	if len(many) != 39 {
		t.Fatalf("%d pods, want 39", len(many))
	}
	if few := s.PodsIn("ns0"); len(few) != 1 || few[0].Name != "0" {
		t.Errorf("%v, want pod 0", few)
	}
	if i := slices.IndexFunc(many[1:], func(pod *corev1.Pod) bool { return pod != nil }); i >= 0 {
		t.Errorf("%s is held on to", many[1+i].Name)
	}
	if none := s.PodsIn("ns2"); len(none) != 0 {
		t.Errorf("%v, want none", none)
	}
}
