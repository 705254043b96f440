package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestDecode shows what inputs become: one line an object, or the one error.
// Escapes such as \x00 and \t in the input stand for the byte.
func TestDecode(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			mode := Strict
			if d.HasArg("lenient") {
				mode = Lenient
			}
			input := strings.NewReplacer(`\x00`, "\x00", `\x1b`, "\x1b", `\r`, "\r", `\t`, "\t", `\ufeff`, "\ufeff").Replace(d.Input)
			set, err := Decode("web.yaml", []byte(input), mode)
			if err == nil {
				err = set.Unique()
			}
			var namespace string
			if d.MaybeScanArgs(t, "namespace", &namespace); err == nil && namespace != "" {
				err = set.DefaultNamespace(namespace, d.HasArg("enforce"))
			}
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return show(set)
		})
	})
}

func show(set *Set) string {
	var out strings.Builder
	for _, item := range set.Items {
		gvk := item.Object.GetObjectKind().GroupVersionKind()
		fmt.Fprintf(&out, "%s %s %q  %T  at %s\n", gvk.GroupVersion(), Name(item.Object), item.Object.GetNamespace(), item.Object, item.Source)
	}
	if ignored := set.Ignored(); ignored != "" {
		fmt.Fprintf(&out, "ignored: %s\n", ignored)
	}
	return out.String()
}

func TestLargeInputsEndSoon(t *testing.T) {
	for name, data := range map[string]string{
		"garbage":     strings.Repeat("Wx8#kq:;[", 230_000),
		"one word":    strings.Repeat("a", 2<<20),
		"brackets":    strings.Repeat("[", 2<<20),
		"braces":      strings.Repeat(`{"a":`, 400_000),
		"nul bytes":   strings.Repeat("\x00", 2<<20),
		"dashes":      strings.Repeat("---\n", 500_000) + "x",
		"many values": strings.Repeat("a: 1\n", 400_000),
		"aliases":     "a: &a [x,x,x,x,x,x,x,x,x]\n" + bomb(),
	} {
		if _, err := Decode(name, []byte(data), Strict); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%s: error of %d bytes: %.200q", name, len(err.Error()), err)
		}
	}
}

// bomb is a document whose aliases would expand to 9^9 elements.
func bomb() string {
	var out strings.Builder
	for c := 'b'; c < 'j'; c++ {
		fmt.Fprintf(&out, "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	return out.String()
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "---\n---\n", "a: b", "[1, 2]", "{", "{}{}", "\x00", "kind: List\napiVersion: v1\nitems: [1]",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: x}",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: &a {name: web, annotations: *a}",
		`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}}]}`,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{resources: {limits: {cpu: 1x}}}]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, mode := range []Mode{Strict, Lenient} {
			set, err := Decode("fuzz", data, mode)
			if err != nil {
				if msg := err.Error(); strings.IndexFunc(msg, unprintable) >= 0 {
					t.Errorf("error has control characters: %q", msg)
				}
				continue
			}
			for _, item := range set.Items {
				if item.Object.GetName() == "" || item.Source.Line < 1 {
					t.Errorf("object without name or line: %+v", item)
				}
			}
		}
	})
}
