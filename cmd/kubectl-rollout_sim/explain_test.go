package main

import (
	"bufio"
	"bytes"
	"encoding/json"

	"github.com/rogpeppe/go-internal/testscript"
)

// pick puts the name of a pod into a variable: of the first or last event of a
// type about a pod, in a recording: pick VARIABLE FILE TYPE first|last.
func pick(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: pick VARIABLE FILE TYPE first|last")
	}
	found := ""
	lines := bufio.NewScanner(bytes.NewReader([]byte(ts.ReadFile(args[1]))))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			Type   string
			Object struct{ Kind, Name string }
		}
		ts.Check(json.Unmarshal(lines.Bytes(), &e))
		if e.Type == args[2] && e.Object.Kind == "Pod" && (found == "" || args[3] == "last") {
			found = e.Object.Name
		}
	}
	if found == "" {
		ts.Fatalf("%s: no event %s about a pod", args[1], args[2])
	}
	ts.Setenv(args[0], found)
}
