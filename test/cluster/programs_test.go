package cluster

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunnable(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		content string
		mode    os.FileMode
		want    bool
	}{
		"built":      {"program", 0o755, true},
		"empty":      {"", 0o755, false},
		"not marked": {"program", 0o644, false},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.content), test.mode); err != nil {
			t.Fatal(err)
		}
		if got := runnable(path); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if runnable(filepath.Join(dir, "missing")) || runnable(dir) {
		t.Error("what is not there, or a folder, is taken for a program")
	}
}

// A cache that has lost kwok's stages gets them back without building kwok again.
func TestStagesComeBack(t *testing.T) {
	if testing.Short() {
		t.Skip("may download kwok's module")
	}
	b, err := newBuilder(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	version, err := b.version(sources[Kwok])
	if err != nil {
		t.Fatal(err)
	}
	b.cache = t.TempDir()
	dir := filepath.Join(b.cache, "kwok-"+version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kwok"), []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.program(t.Context(), Kwok); err != nil {
		t.Fatal(err)
	}
	stages, err := os.ReadFile(filepath.Join(dir, stagesFile))
	if err != nil || strings.Count(string(stages), "kind: Stage") < 5 {
		t.Errorf("stages of %d bytes, %v", len(stages), err)
	}
}
