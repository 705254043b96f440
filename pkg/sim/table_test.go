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
