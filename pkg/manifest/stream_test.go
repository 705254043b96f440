package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"
)

// streamed reads a dump in windows of so many bytes.
func streamed(data []byte, size int) (*Set, error) {
	return Reader{Mode: Lenient}.streamList("dump", bytes.NewReader(data), size)
}

// TestStream reads lists in windows of every size, and gets what reading them as
// a whole gives, sources included.
func TestStream(t *testing.T) {
	lists := map[string]string{
		"pods":          string(dumped(7)),
		"none":          `{"apiVersion":"v1","items":[],"kind":"List"}`,
		"typed":         `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
		"other kinds":   `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}],"kind":"List"}` + "\n",
		"list in list":  `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}]}],"kind":"List"}`,
		"odd text":      `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"k\u0065y":"é\n"}}}],"kind":"List"}`,
		"unknown field": `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"new":{"x":[1,{}]}}],"kind":"List"}`,
	}
	for name, text := range lists {
		t.Run(name, func(t *testing.T) {
			want, err := Decode("dump", []byte(text), Lenient)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1, 2, 3, 7, 64, 1000, 1 << 20} {
				got, err := streamed([]byte(text), size)
				if err != nil {
					t.Fatalf("windows of %d bytes: %v", size, err)
				}
				compareSets(t, want, got)
			}
		})
	}
}

func compareSets(t interface {
	Helper()
	Fatalf(string, ...any)
}, want, got *Set) {
	t.Helper()
	if !equality.Semantic.DeepEqual(want.Objects(), got.Objects()) {
		t.Fatalf("other objects (-usual +streamed):\n%s", cmp.Diff(want.Objects(), got.Objects()))
	}
	for i := range want.Items {
		if want.Items[i].Source != got.Items[i].Source {
			t.Fatalf("item %d is from %v, not %v", i, got.Items[i].Source, want.Items[i].Source)
		}
	}
	if want.Ignored() != got.Ignored() {
		t.Fatalf("ignored %q, not %q", got.Ignored(), want.Ignored())
	}
}

// TestStreamLeaves: what is no plain list is left to the usual way, which words
// the errors.
func TestStreamLeaves(t *testing.T) {
	for _, text := range []string{
		"", "[]", "{", `{"apiVersion":"v1"}`, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`,
		"\n" + `{"apiVersion":"v1","items":[],"kind":"List"}`,
		`{"apiVersion":"v1","items":[],"kind":"List"} {}`, `{"apiVersion":"v1","items":[,],"kind":"List"}`,
		`{"apiVersion":"v1","items":[{}{}],"kind":"List"}`, `{"apiVersion":"v1","items":[7],"kind":"List"}`,
		`{"apiVersion":"v1","items":[{"kind":"Pod"}],"kind":"List"}`, `{"apiVersion":"v1","items":[],"items":[],"kind":"List"}`,
		`{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":7}}],"kind":"List"}`,
		`{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}],"kind":"List"}`,
		"apiVersion: v1\nkind: List\nitems: []\n",
	} {
		if set, err := streamed([]byte(text), 16); !errors.Is(err, errUsual) {
			t.Errorf("%q: %v, %v", text, set, err)
		}
	}
}

// TestLargeFile reads a file of more than a window, and the error of a broken
// one says where it is, as for a small one.
func TestLargeFile(t *testing.T) {
	data := dumped(5500)
	if len(data) <= windowSize {
		t.Fatalf("only %d bytes", len(data))
	}
	file := filepath.Join(t.TempDir(), "dump.json")
	for _, broken := range []bool{false, true} {
		if broken {
			data = bytes.Replace(data, []byte(`"name": "web-5dff9dc7b-05490"`), []byte(`"name": 7`), 1)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		want, wantErr := Decode(file, data, Lenient)
		got, err := Reader{Mode: Lenient}.Read(file)
		if broken {
			if err == nil || wantErr == nil || err.Error() != wantErr.Error() || !strings.Contains(err.Error(), "line ") {
				t.Errorf("%v, not %v", err, wantErr)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		compareSets(t, want, got)
	}
}

// TestShare changes bytes of pods: what is decoded with others' values is what
// the usual decoder makes of it, and what that refuses is never taken.
func TestShare(t *testing.T) {
	var lists [][]byte
	members(dumped(3), func(key, value []byte) bool {
		if string(key) == "items" {
			elements(value, func(item []byte) { lists = append(lists, compact(nil, item), bytes.Clone(item)) })
		}
		return true
	})
	bytesOf := []byte(`"{}[],:\ 0129-+.eénulltrue` + "\x01\xff")
	var all sharers
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		share := all.take()
		defer all.give(share)
		data := bytes.Clone(rapid.SampledFrom(lists).Draw(t, "pod"))
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				data[at] = rapid.SampledFrom(bytesOf).Draw(t, "byte")
			case 1:
				data = append(data[:at], data[at+1:]...)
			default:
				data = append(data[:at], append([]byte{rapid.SampledFrom(bytesOf).Draw(t, "byte")}, data[at:]...)...)
			}
		}
		var got, want corev1.Pod
		if !share.decode(data, &got) {
			return
		}
		taken++
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &want); err != nil {
			t.Fatalf("taken, although %v:\n%s", err, data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-usual +shared):\n%s", diff)
		}
	})
	if taken == 0 {
		t.Error("nothing was taken")
	}
}

// TestShareBeginnings decodes pods one after the other in which a value is the
// beginning of the one before, or the other way round.
func TestShareBeginnings(t *testing.T) {
	var all sharers
	share := all.take()
	const pod = `{"metadata":{"name":"a","creationTimestamp":%q,"labels":{"a":"%[3]d"}},"spec":{"terminationGracePeriodSeconds":%[2]d,"priority" : %[2]d
		,"volumes":[{"name":"v"},null],"containers":null,"tolerations":[{"tolerationSeconds":%[2]d}%[4]s]}}`
	for i, grace := range []int{3, 30, 300, 30, 3, 3} {
		for _, more := range []string{"", ",{}", ""} {
			data := fmt.Appendf(nil, pod, []string{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+02:00"}[i%2], grace, grace, more)
			var got, want corev1.Pod
			if !share.decode(data, &got) {
				t.Fatalf("left to the usual decoder:\n%s", data)
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-usual +shared):\n%s", diff)
			}
		}
	}
}

// TestShareMemory: alike pods share what they say alike, but not their containers.
func TestShareMemory(t *testing.T) {
	set, err := streamed(dumped(2), windowSize)
	if err != nil {
		t.Fatal(err)
	}
	a, b := set.Items[0].Object.(*corev1.Pod), set.Items[1].Object.(*corev1.Pod)
	if &a.Spec.Tolerations[0] != &b.Spec.Tolerations[0] || &a.Spec.Containers[0].Env[0] != &b.Spec.Containers[0].Env[0] {
		t.Error("two pods say the same twice")
	}
	if &a.Spec.Containers[0] == &b.Spec.Containers[0] {
		t.Error("two pods have one container: they would be taken for one template")
	}
}
