package observed

import (
	"strconv"
	"strings"
	"testing"
)

const (
	pod    = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ns","creationTimestamp":"2026-03-01T12:00:01Z"}}`
	leaves = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","deletionTimestamp":"2026-03-01T12:00:09Z","deletionGracePeriodSeconds":0}}`
	node   = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`
)

// TestReadWatch: single objects, lists and watch events, of which the last may be cut short.
func TestReadWatch(t *testing.T) {
	tests := map[string]struct {
		in   string
		want string // a word an observation, or the error
	}{
		"objects":     {pod + "\n" + pod, "seen seen"},
		"a list":      {`{"kind":"List","apiVersion":"v1","items":[` + pod + "," + node + "," + pod + "]}", "seen seen"},
		"events":      {`{"type":"ADDED","object":` + pod + `}{"type":"DELETED","object":` + pod + "}", "seen deleted"},
		"no grace":    {leaves, "deleted"},
		"others":      {node, ""},
		"cut":         {pod + "\n" + pod[:40] + "\n", "seen"},
		"no JSON":     {pod + "\n!", "object 2: invalid character"},
		"wrong type":  {`{"apiVersion":"v1","kind":"Pod","metadata":[]}`, "object 1: a Pod: "},
		"wrong items": {`{"kind":"List","apiVersion":"v1","items":[7]}`, "object 1: "},
	}
	for name, test := range tests {
		seen, err := ReadWatch([]byte(test.in))
		var got []string
		for _, o := range seen {
			word := "seen"
			if o.Deleted {
				word = "deleted"
			}
			got = append(got, word)
		}
		switch said := strings.Join(got, " "); {
		case err != nil && (!strings.HasPrefix(err.Error(), test.want) || !strings.HasPrefix(test.want, "object")):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		case err == nil && said != test.want:
			t.Errorf("%s: %q, want %q", name, said, test.want)
		}
	}
}

// TestReadAudit: writes that were answered, and who made them.
func TestReadAudit(t *testing.T) {
	line := func(edits ...string) string {
		return strings.NewReplacer(edits...).Replace(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"create","requestURI":"/api",` +
			`"user":{"username":"me"},"objectRef":{"resource":"pods","namespace":"ns"},"responseStatus":{"code":201},"responseObject":` + pod + `}`)
	}
	tests := map[string]struct {
		in   string
		want string
	}{
		"a write":       {line(), "me create Pod/ns/a 201"},
		"a read":        {line(`"create"`, `"get"`), ""},
		"received":      {line("ResponseComplete", "RequestReceived"), ""},
		"a dry run":     {line(`/api`, `/api?dryRun=All`), ""},
		"elsewhere":     {line(`"pods"`, `"secrets"`), ""},
		"refused":       {line("201", `403,"message":"no"`, `"responseObject"`, `"requestObject":{"metadata":{"generateName":"a-"}},"x"`), "me create Pod/ns/a- 403 no"},
		"metadata only": {line(`"responseObject"`, `"x"`, `"namespace":"ns"}`, `"namespace":"ns","name":"b"}`), "me create Pod/ns/b 201"},
	}
	for name, test := range tests {
		seen, err := ReadAudit([]byte("\n" + test.in + "\n"))
		got := ""
		for _, o := range seen {
			got += strings.TrimSpace(strings.Join([]string{o.Write.User, o.Write.Verb, o.Ref.String(), strconv.Itoa(o.Write.Code), o.Write.Error}, " "))
		}
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}
	if _, err := ReadAudit([]byte(line() + "\n{")); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("a broken line: %v", err)
	}
}

// TestFormatOf: what a file is taken for.
func TestFormatOf(t *testing.T) {
	for in, want := range map[string]Format{
		pod: WatchStream, `{"type":"ADDED","object":` + pod + "}": WatchStream, `{"kind":"List","items":[]}`: WatchStream,
		`{"kind":"Event","apiVersion":"audit.k8s.io/v1"}`: AuditLog, `{"kind":"RolloutPlan"}`: "", "kind: Pod": "", "": "", node: "",
	} {
		if got := FormatOf([]byte(in)); got != want {
			t.Errorf("%.60s: %q, want %q", in, got, want)
		}
	}
}
