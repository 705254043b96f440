package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(set *Set) string {
	var out []string
	for _, obj := range set.Objects() {
		out = append(out, obj.GetName())
	}
	return strings.Join(out, " ")
}

func TestRead(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"b.yaml": fmt.Sprintf(pod, "b"), "a.yml": fmt.Sprintf(pod, "a"), "c.json": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}}`,
		"d.txt": "not read", "e.yaml": "", "sub/f.yaml": fmt.Sprintf(pod, "f"), "none/readme.md": "",
	})
	tests := []struct {
		paths     []string
		recursive bool
		want      string
		err       string
	}{
		{paths: []string{dir}, want: "a b c"},
		{paths: []string{dir}, recursive: true, want: "a b c f"},
		{paths: []string{dir + "/b.yaml", "-", dir + "/a.yml"}, want: "b in a"},
		{paths: []string{dir + "/*.y*ml"}, want: "a b"},
		{paths: []string{dir + "/e.yaml"}, err: "e.yaml: there is no object in it"},
		{paths: []string{dir + "/none"}, err: "recognized file extensions are [.json .yaml .yml]"},
		{paths: []string{dir + "/missing"}, err: `missing" does not exist`},
		{paths: []string{"-", "-"}, err: "standard input can be read only once"},
		{paths: []string{"https://example.com/a.yaml"}, err: "addresses are not fetched"},
	}
	for _, test := range tests {
		set, err := Reader{Stdin: strings.NewReader(fmt.Sprintf(pod, "in")), Recursive: test.recursive}.Read(test.paths...)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v: error %v, want %s", test.paths, err, test.err)
			}
		case err != nil:
			t.Errorf("%v: %v", test.paths, err)
		case names(set) != test.want:
			t.Errorf("%v: %s, want %s", test.paths, names(set), test.want)
		}
	}
}

func TestReadEndsAtTheLimit(t *testing.T) {
	_, err := Reader{Stdin: endless{}}.Read("-")
	if err == nil || !strings.Contains(err.Error(), "larger than 64 MiB: split it") {
		t.Errorf("error %v", err)
	}
	// A file says beforehand how large it is. These are one hole each.
	for mode, size := range map[Mode]int64{Strict: MaxFile + 1, Lenient: MaxDump + 1} {
		path := filepath.Join(t.TempDir(), "large.json")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		_, err := Reader{Mode: mode}.Read(path)
		if want := fmt.Sprintf("large.json: this is larger than %d MiB: ", size>>20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

func TestKustomize(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"base/kustomization.yaml":    "resources: [pod.yaml]\n",
		"base/pod.yaml":              fmt.Sprintf(pod, "web"),
		"overlay/kustomization.yaml": "resources: [../base]\nnamePrefix: staging-\nnamespace: staging\n",
		"broken/kustomization.yaml":  "resources: [missing.yaml]\n",
	})
	set, err := Kustomize(filepath.Join(dir, "overlay"))
	if err != nil || names(set) != "staging-web" || set.Items[0].Object.GetNamespace() != "staging" {
		t.Errorf("%v %v", set, err)
	}
	if _, err := Kustomize(filepath.Join(dir, "broken")); err == nil || !strings.Contains(err.Error(), "cannot build this kustomization") {
		t.Errorf("error %v", err)
	}
}

// A document above the API server's own limit cannot be applied; a dump may hold many objects.
func TestDocumentLimit(t *testing.T) {
	big := fmt.Sprintf(pod, "big") + "spec: {nodeName: " + strings.Repeat("x", MaxDocument) + "}\n"
	if _, err := Decode("f", []byte(big), Strict); err == nil || !strings.Contains(err.Error(), "an API server takes at most 3145728") {
		t.Errorf("error %.200v", err)
	}
	if _, err := Decode("f", []byte(big), Lenient); err != nil {
		t.Errorf("error %.200v", err)
	}
}

func TestLatest(t *testing.T) {
	set, err := Decode("f", []byte(fmt.Sprintf(pod, "a")+"---\n"+fmt.Sprintf(pod, "b")+"---\n"+fmt.Sprintf(pod, "a")), Lenient)
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Latest(); names(got) != "b a" || got.Items[1].Source.Document != 3 {
		t.Errorf("%s", names(got))
	}
}
