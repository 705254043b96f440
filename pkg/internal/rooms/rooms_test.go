package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "github.com/rollout-sim/kubectl-rollout-sim/"
	root     = "../../.."
	maxLines = 500
)

func roomOf(path string) *Room {
	var best *Room
	for i := range Rooms {
		r := &Rooms[i]
		if under(path, r.Path) && (best == nil || len(r.Path) > len(best.Path)) {
			best = r
		}
	}
	return best
}

func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// TestRooms walks every Go file outside test/ and checks its imports, calls,
// goroutines and length against the table. Test files may import anything and
// are held to their length alone.
func TestRooms(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, root), "/"))
		if d.IsDir() {
			if rel == "test" || rel != "" && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		room := roomOf(filepath.ToSlash(filepath.Dir(rel)))
		if room == nil {
			t.Errorf("%s stands in no room: add its folder to the table, with what it is for", rel)
			return nil
		}
		seen[room.Path] = true
		checkFile(t, rel, path, room)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rooms {
		if !seen[r.Path] {
			t.Errorf("room %s has no files: take it out of the table", r.Path)
		}
	}
}

func checkFile(t *testing.T, rel, path string, room *Room) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	if lines := fset.File(file.Pos()).LineCount(); lines > maxLines {
		t.Errorf("%s has %d lines, over %d: split it by idea", rel, lines, maxLines)
	}
	if strings.HasSuffix(rel, "_test.go") {
		return
	}
	names := checkImports(t, rel, file, room)
	ast.Inspect(file, func(n ast.Node) bool {
		line := func() int { return fset.Position(n.Pos()).Line }
		switch n := n.(type) {
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
			if !room.Goroutines {
				t.Errorf("%s:%d: %s %s, it starts no goroutine and has no channel", rel, line(), room.Path, room.For)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && names[x.Name] != "" {
				if call := names[x.Name] + "." + n.Sel.Name; slices.Contains(room.Calls, call) {
					t.Errorf("%s:%d: %s %s, it does not use %s", rel, line(), room.Path, room.For, call)
				}
			}
		}
		return true
	})
}

// checkImports returns the import path behind each package name of the file.
func checkImports(t *testing.T, rel string, file *ast.File, room *Room) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if name == "v2" {
			name = filepath.Base(filepath.Dir(path))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
		if ours, ok := strings.CutPrefix(path, module); ok {
			if !allowed(room, filepath.Dir(rel), ours) {
				t.Errorf("%s: %s %s, it does not import %s", rel, room.Path, room.For, ours)
			}
			continue
		}
		for _, banned := range join(nowhere, room.Foreign) {
			if under(path, banned) && path != "k8s.io/client-go/tools/record" {
				t.Errorf("%s: %s %s, it does not import %s", rel, room.Path, room.For, path)
			}
		}
	}
	return names
}

func allowed(room *Room, from, imported string) bool {
	// A plugin never leans on another plugin, only on what they share.
	if under(imported, room.Path) && (room.Path != "plugins" || under(imported, filepath.ToSlash(from))) {
		return true
	}
	target := roomOf(imported)
	return target != nil && slices.ContainsFunc(room.Imports, func(p string) bool { return under(imported, p) })
}
