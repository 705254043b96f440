package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared are the names of the functions, methods, types, fields, variables
// and constants below a folder.
func declared(t *testing.T, names map[string]bool, folder string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range n.Names {
					names[name.Name] = true
				}
			case *ast.Field:
				for _, name := range n.Names {
					names[name.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	// Links and what stands in brackets, and folders, are no names.
	besideNames = regexp.MustCompile(`\[[^\]]*\]\([^)]*\)|\([^)]*\)|(?:pkg|plugins|controller|test|live)/[\w/.-]+|\w+\.go`)
	aName       = regexp.MustCompile(`\b[A-Za-z]\w+\b`)
	aTest       = regexp.MustCompile(`\bTest\w+\b`)
	aFile       = regexp.MustCompile(`[\w-]+\.(?:txtar|txt)\b`)
)

// words of the table that are no names.
var words = map[string]bool{"the": true, "no": true, "them": true, "those": true, "dry": true, "none": true, "same": true, "as": true, "for": true}

// TestUpstreamMap checks that what docs/upstream-map.md says stands for
// upstream's functions, and the tests it names, are there.
func TestUpstreamMap(t *testing.T) {
	names := map[string]bool{}
	for _, folder := range []string{"pkg", "plugins", "test"} {
		declared(t, names, folder)
	}
	files := map[string]bool{}
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error {
		files[filepath.Base(path)] = true
		return nil
	})
	data, err := os.ReadFile(filepath.Join(root, "docs", "upstream-map.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for i, line := range strings.Split(string(data), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if len(cells) != 3 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| upstream |") {
			continue
		}
		rows++
		for _, name := range aName.FindAllString(besideNames.ReplaceAllString(cells[1], ""), -1) {
			if !names[name] && !words[name] {
				t.Errorf("docs/upstream-map.md:%d: nothing here is called %s", i+1, name)
			}
		}
		for _, name := range aTest.FindAllString(cells[2], -1) {
			if !names[name] && !strings.Contains(cells[2], name+"…") {
				t.Errorf("docs/upstream-map.md:%d: there is no %s", i+1, name)
			}
		}
		for _, name := range aFile.FindAllString(cells[2], -1) {
			if !files[name] {
				t.Errorf("docs/upstream-map.md:%d: there is no %s", i+1, name)
			}
		}
	}
	if rows < 50 {
		t.Errorf("only %d rows were read", rows)
	}
}
