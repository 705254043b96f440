package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// JSON writes one of our kinds as one indented object.
func JSON[K Kind](w io.Writer, kind K) error {
	data, err := encoded(kind)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "    "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = w.Write(out.Bytes())
	return err
}

// YAML writes one of our kinds as one document.
func YAML[K Kind](w io.Writer, kind K) error {
	data, err := encoded(kind)
	if err != nil {
		return err
	}
	if data, err = yaml.JSONToYAML(data); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// JSONL writes a plan as JSON lines: the header, then one event each, and last
// the plan again with its status and without the events.
func JSONL(w io.Writer, plan *v1alpha1.RolloutPlan) error {
	if err := Lines(w, plan); err != nil {
		return err
	}
	return Result(w, plan)
}

// Result writes the last of the JSON lines: the plan with its status and without
// the events, for those who write them as they happen.
func Result(w io.Writer, plan *v1alpha1.RolloutPlan) error {
	last := v1alpha1.NewRolloutPlan(plan.Spec)
	last.Status = plan.Status
	return writeLine(w, last)
}

// Lines writes the header and the events alone.
func Lines(w io.Writer, plan *v1alpha1.RolloutPlan) error {
	if err := Header(w, plan.Spec); err != nil {
		return err
	}
	for _, e := range plan.Events {
		if err := Line(w, e); err != nil {
			return err
		}
	}
	return nil
}

// Header writes the first of the JSON lines: a RolloutPlan in which nothing has happened yet.
func Header(w io.Writer, spec v1alpha1.RolloutPlanSpec) error {
	return writeLine(w, v1alpha1.NewRolloutPlan(spec))
}

// Line writes one event as a JSON line, for those who write them as they happen.
func Line(w io.Writer, e trace.Event) error { return writeLine(w, e) }

func writeLine(w io.Writer, v any) error {
	data, err := encoded(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// Object is one of our kinds in the generic form that kubectl's jsonpath and
// go-template printers walk, with the field names of the JSON.
func Object[K Kind](kind K) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(kind)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(data)
}

// encoded is JSON that is also safe to look at in a terminal: what would not be
// visible is escaped, which means the same to every reader of JSON.
func encoded(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if isClean(string(data)) {
		return data, nil
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case visible(r):
			out = append(out, data[:size]...)
		case r > 0xffff: // a surrogate pair
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[size:]
	}
	return out, nil
}
