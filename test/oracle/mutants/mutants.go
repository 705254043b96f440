// Package mutants shows that the oracle can fail: it breaks one line of the
// product at a time and expects a difference.
package mutants

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// mutant is one changed line.
type mutant struct{ file, from, to string }

// read parses the list: see its head.
func read(path string) ([]mutant, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []mutant
	var m mutant
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "- "):
			m.from = line[2:]
		case strings.HasPrefix(line, "+ "):
			m.to = line[2:]
			all = append(all, m)
		case line != "" && line[0] != '#':
			m = mutant{file: line}
		}
	}
	return all, nil
}

// apply is the file with the line changed, which must stand in it once.
func (m mutant) apply(root string) (string, error) {
	text, err := os.ReadFile(root + "/" + m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		return "", fmt.Errorf("%s has %d times %q", m.file, n, m.from)
	}
	return strings.Replace(string(text), m.from, m.to, 1), nil
}
