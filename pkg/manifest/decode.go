package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// MaxDocument is the largest single manifest taken, in bytes: the API server's
// own limit for a request.
const MaxDocument = 3 << 20

// Mode is how strictly an input is read.
type Mode int

const (
	// Strict is for manifests people write: unknown and repeated fields are
	// errors, as with kubectl --validate=strict, and so is an oversized document.
	Strict Mode = iota
	// Lenient is for dumps of a cluster, which may be newer than this program:
	// fields it does not know are dropped.
	Lenient
)

// Decode reads every object of one file's content. Kinds that have no part in
// a rollout are counted, not kept. Errors are of type *Error.
func Decode(file string, data []byte, mode Mode) (*Set, error) {
	return Reader{Mode: mode}.decode(file, data)
}

func (r Reader) decode(file string, data []byte) (*Set, error) {
	if r.Mode == Lenient {
		if set, ok, err := r.decodeList(file, data); ok {
			return set, err
		}
	}
	set := &Set{}
	for i, doc := range split(data) {
		d := decoder{doc: doc, mode: r.Mode, events: r.Events, set: set, source: Source{File: file, Document: i + 1}}
		if err := d.run(); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// decoder reads one document.
type decoder struct {
	doc    document
	mode   Mode
	events bool
	set    *Set
	source Source
	json   []byte // the document as JSON
	spare  []byte // an item of a dump without its blanks
	share  *sharer

	tree        *yamlv3.Node // its positions, parsed when the first error asks
	untraceable bool
}

// header is what every object begins with.
type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

func (d *decoder) run() error {
	var err error
	if d.json, err = d.toJSON(); err != nil {
		return err
	}
	if trimmed := strings.TrimSpace(string(d.json[:min(len(d.json), 64)])); !strings.HasPrefix(trimmed, "{") {
		return d.at("").errorf("this is %s, not a Kubernetes object with apiVersion, kind and metadata", describe(d.json))
	}
	return d.object(d.json, "", schema.GroupVersionKind{})
}

func (d *decoder) toJSON() ([]byte, error) {
	if d.doc.json {
		return d.doc.data, nil
	}
	out, err := yaml.YAMLToJSONStrict(d.doc.data)
	if err != nil {
		return nil, d.syntax(err)
	}
	return out, nil
}

// describe names the type of a JSON value for people.
func describe(value []byte) string {
	switch strings.TrimSpace(string(value))[0] {
	case '[':
		return "a list"
	case '"':
		return "plain text"
	case 't', 'f':
		return "a true or false"
	case 'n':
		return "nothing (null)"
	}
	return "a number"
}

// object decodes one object; path is where it is within the document, and
// implied its kind when it stands in a typed list and need not say it itself.
func (d *decoder) object(data []byte, path string, implied schema.GroupVersionKind) error {
	var head header
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return d.wrongType(data, &head, path, err)
	}
	if head.APIVersion == "" && head.Kind == "" {
		head.APIVersion, head.Kind = implied.ToAPIVersionAndKind()
	}
	if head.Kind == "" {
		return d.at(path).errorf("kind is missing%s: every object says apiVersion, kind and metadata.name", within(path))
	}
	if head.APIVersion == "" {
		return d.at(path).errorf("apiVersion is missing%s", within(path))
	}
	gv, err := schema.ParseGroupVersion(head.APIVersion)
	if err != nil {
		return d.at(join(path, "apiVersion")).errorf("apiVersion %q is not GROUP/VERSION", head.APIVersion)
	}
	gvk := gv.WithKind(head.Kind)
	found, instead := lookup(gvk)
	switch {
	case found != nil && (!found.story || d.events):
		return d.typed(data, path, found, head)
	case strings.HasSuffix(gvk.Kind, "List") && (head.Items != nil || isList(gvk)):
		return d.list(head.Items, path, gvk)
	case instead != "":
		return d.at(join(path, "apiVersion")).errorf("no matches for kind %q in version %q: use apiVersion: %s", head.Kind, head.APIVersion, instead)
	}
	d.set.ignore(head.Kind, 1)
	return nil
}

func isList(gvk schema.GroupVersionKind) bool {
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	found, _ := lookup(gvk)
	return gvk.Kind == "" || found != nil
}

func (d *decoder) list(items []json.RawMessage, path string, gvk schema.GroupVersionKind) error {
	implied := impliedKind(gvk)
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", join(path, "items"), i)
		if !bytes.HasPrefix(bytes.TrimSpace(item), []byte("{")) {
			return d.notObject(item, at)
		}
		if err := d.object(item, at, implied); err != nil {
			return err
		}
	}
	return nil
}

// impliedKind is the kind of the items of a typed list; empty for List itself.
func impliedKind(list schema.GroupVersionKind) schema.GroupVersionKind {
	kind := strings.TrimSuffix(list.Kind, "List")
	if kind == "" {
		return schema.GroupVersionKind{}
	}
	return list.GroupVersion().WithKind(kind)
}

func (d *decoder) notObject(item []byte, path string) error {
	return d.at(path).errorf("%s is %s, not a Kubernetes object", path, describe(item))
}

func (d *decoder) typed(data []byte, path string, k *kind, head header) error {
	if len(data) > MaxDocument && d.mode == Strict {
		return d.at(path).errorf("%s %q has %d bytes; an API server takes at most %d", k.name, head.Metadata.Name, len(data), MaxDocument)
	}
	obj := k.make()
	if err := d.unmarshal(data, obj, path); err != nil {
		return err
	}
	return d.enter(obj, data, path, k)
}

// shared decodes one of thousands, sharing what others said before; false
// where that is not possible.
func (d *decoder) shared(data []byte, k *kind) (Object, bool) {
	if d.share == nil {
		return nil, false
	}
	obj := k.make()
	return obj, shares(obj) && d.share.decode(data, obj)
}

// enter takes an object into the set.
func (d *decoder) enter(obj Object, data []byte, path string, k *kind) error {
	if obj.GetName() == "" {
		if generate := obj.GetGenerateName(); generate != "" {
			return d.at(join(path, "metadata.generateName")).errorf("from %s: cannot use generate name here; give the %s a metadata.name", generate, k.name)
		}
		return d.at(path).errorf("resource name may not be empty: give the %s a metadata.name", k.name)
	}
	obj.GetObjectKind().SetGroupVersionKind(k.gvk())
	source := d.source
	source.Line = d.doc.first()
	item := Item{Object: modern(obj), Source: source}
	if d.mode == Strict {
		item.Raw = data
		item.place = func(field string) Source { return d.at(join(path, field)) }
	}
	d.set.Items = append(d.set.Items, item)
	return nil
}

// unmarshal decodes one object as strictly as the mode says.
func (d *decoder) unmarshal(data []byte, obj Object, path string) error {
	if d.mode == Lenient {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, obj); err != nil {
			return d.wrongType(data, obj, path, err)
		}
		return nil
	}
	unknown, err := kjson.UnmarshalStrict(data, obj)
	switch {
	case err != nil:
		return d.wrongType(data, obj, path, err)
	case len(unknown) > 0:
		return d.unknownFields(unknown, path)
	}
	return nil
}

// unknownFields words the strict decoder's findings, each with its line.
func (d *decoder) unknownFields(found []error, path string) error {
	var first Source
	parts := make([]string, 0, len(found))
	for i, err := range found {
		var field kjson.FieldError
		if !errors.As(err, &field) {
			parts = append(parts, err.Error())
			continue
		}
		full := join(path, field.FieldPath())
		source := d.at(full)
		field.SetFieldPath(full)
		if i == 0 {
			first = source
			parts = append(parts, err.Error())
			continue
		}
		parts = append(parts, fmt.Sprintf("%s (line %d)", err, source.Line))
	}
	return first.errorf("%s", strings.Join(parts, ", "))
}

// wrongType finds the value that the decoder could not take.
func (d *decoder) wrongType(data []byte, into any, path string, err error) error {
	at, cause := culprit(data, into)
	if cause == nil {
		return d.at(path).errorf("%v", err)
	}
	full := join(path, at)
	var mismatch *json.UnmarshalTypeError
	if errors.As(cause, &mismatch) {
		wanted := typeName(mismatch.Type)
		if mismatch.Type.Kind() == reflect.String && mismatch.Value != "object" && mismatch.Value != "array" {
			wanted += ": put it in quotes"
		}
		return d.at(full).errorf("%s: %s cannot be used as %s", full, valueName(mismatch.Value), wanted)
	}
	return d.at(full).errorf("%s: %v", full, cause)
}

func within(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

func join(path, field string) string {
	if path == "" || field == "" || strings.HasPrefix(field, "[") {
		return path + field
	}
	return path + "." + field
}
