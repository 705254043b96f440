package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// DumpOptions say how a snapshot is written.
type DumpOptions struct {
	// Keep leaves values, commands and annotations as they are; without it
	// they are replaced by marks, equal ones by equal marks, so that templates
	// still compare.
	Keep bool
	// JSON in place of YAML.
	JSON bool
}

// Dump writes the snapshot as one List, for --state.
func (s *Snapshot) Dump(out io.Writer, opts DumpOptions) error {
	blind, err := newRedactor()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	head, between, tail := "# Read at "+s.Time.Format(timeFormat)+" from a server of "+orUnknown(s.Version)+".\napiVersion: v1\nkind: List\nitems:\n", "", ""
	if opts.JSON {
		head, between, tail = `{"apiVersion":"v1","kind":"List","items":[`+"\n", ",\n", "\n]}\n"
	}
	fmt.Fprint(w, head)
	for i, obj := range s.Objects() {
		if i > 0 {
			fmt.Fprint(w, between)
		}
		data, err := encode(obj, blind, opts)
		if err != nil {
			return fmt.Errorf("encoding %s %q: %w", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName(), err)
		}
		_, _ = w.Write(data) // Flush tells of errors
	}
	fmt.Fprint(w, tail)
	return w.Flush()
}

// encode is one object as an item of the list.
func encode(obj Object, blind *redactor, opts DumpOptions) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	if !opts.Keep {
		blind.object(fields)
	}
	if opts.JSON {
		return json.Marshal(fields)
	}
	return yaml.Marshal([]any{fields})
}

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

func orUnknown(version string) string {
	if version == "" {
		return "an unknown version"
	}
	return version
}
