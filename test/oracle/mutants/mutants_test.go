package mutants

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	run   = flag.Bool("mutants", os.Getenv("MUTANTS") != "", "build and run every mutant, some 15 s each (env MUTANTS)")
	match = flag.String("match", os.Getenv("MATCH"), "only mutants whose file or text has this in it (env MATCH)")
)

// told is how the oracle tells of a difference.
var told = regexp.MustCompile(`differs? \(-upstream|(?m)controller: .* differ$`)

// TestApply keeps the list in step with the code without running it.
func TestApply(t *testing.T) {
	all, err := read("mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Errorf("%d mutants are too few", len(all))
	}
	for _, m := range all {
		if _, err := m.apply("../../.."); err != nil {
			t.Error(err)
		}
	}
}

// TestKilled runs the oracle with each mutant in place; one that differs in
// nothing survives.
func TestKilled(t *testing.T) {
	if !*run {
		t.Skip("run with -mutants")
	}
	all, err := read("mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	killed, tried := 0, 0
	for _, m := range all {
		if !strings.Contains(m.file+m.from+m.to, *match) {
			continue
		}
		tried++
		if by := killer(t, m); by != "" {
			killed++
			t.Logf("killed by %s: %s: %s", by, m.file, m.to)
		} else {
			t.Errorf("survives: %s\n- %s\n+ %s", m.file, m.from, m.to)
		}
	}
	t.Logf("%d of %d mutants killed", killed, tried)
}

// killer names the part of the oracle that notices a mutant; none is "".
func killer(t *testing.T, m mutant) string {
	text, err := m.apply("../../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay := write(t, text, m.file)
	if strings.HasPrefix(m.file, "pkg/rollout/") && fails(t, overlay, "arithmetic", "-cases=2000") {
		return "arithmetic"
	}
	if fails(t, overlay, "worlds", "-worlds=200", "-shrink=0", "-test.run=TestWorlds|TestScripts") {
		return "worlds"
	}
	return ""
}

// write makes the overlay file that puts text in the place of a file.
func write(t *testing.T, text, file string) string {
	dir := t.TempDir()
	real, err := filepath.Abs("../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, filepath.Base(file))
	data, _ := json.Marshal(map[string]map[string]string{"Replace": {real: changed}})
	for path, content := range map[string]string{changed: text, filepath.Join(dir, "overlay.json"): string(data)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
}

// fails builds a part of the oracle over the overlay and says whether it finds
// a difference; a mutant that does not compile is an error of the list.
func fails(t *testing.T, overlay, part string, args ...string) bool {
	binary := filepath.Join(filepath.Dir(overlay), part+".test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "../"+part)
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
		return false
	}
	defer func() { _ = os.Remove(binary) }()
	cmd := exec.Command(binary, args...)
	cmd.Dir = "../" + part
	out, err := cmd.CombinedOutput()
	return err != nil && told.Match(out)
}
