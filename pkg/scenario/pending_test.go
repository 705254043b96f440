package scenario_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// caseIDs are the cases that people met in public. Numbers have gaps.
const caseIDs = `C01 C02 C03 C04 C05 C06 C07 C08 C09 C10 C11 C12 C15 C16 C17 C18 C19 C20 C21 C23 C25 C26 C27 C28
C30 C31 C33 C35 C38 C40 C41 C43 C44 C45 C48 C49 C50 C51 C52 C54 C55 C56 C57 C59 C60 C61 C62 C64 C66 C67 C68 C69
C71 C72 C73 C74 C75 C77 C78 C79 C81 C82 C83`

// pendingFile names the cases that wait for parts of the world, each with the part.
const pendingFile = "testdata/pending.txt"

// TestEveryCaseIsToldOrPending keeps any case from being forgotten: each has its
// story, or a line that says what it waits for, or both when told in part.
func TestEveryCaseIsToldOrPending(t *testing.T) {
	ids, pending := strings.Fields(caseIDs), readPending(t)
	for _, id := range ids {
		_, err := os.Stat(filepath.Join("testdata/cases", id+".txt"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err != nil && pending[id] == "" {
			t.Errorf("%s has neither a story nor a line in %s", id, pendingFile)
		}
	}
	for id := range pending {
		if !slices.Contains(ids, id) {
			t.Errorf("%s: there is no case %s", pendingFile, id)
		}
	}
	stories, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, story := range stories {
		if id := strings.TrimSuffix(filepath.Base(story), ".txt"); !slices.Contains(ids, id) {
			t.Errorf("%s tells no case", story)
		}
	}
}

// readPending returns the reason of each pending case.
func readPending(t *testing.T) map[string]string {
	file, err := os.Open(pendingFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	pending := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if pending[id] != "" || strings.TrimSpace(reason) == "" {
			t.Errorf("%s: %q is not one line of an id and a reason", pendingFile, line)
		}
		pending[id] += strings.TrimSpace(reason)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return pending
}
