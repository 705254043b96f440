package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
)

// at is the source of a field, as in spec.template.spec.containers[0].image;
// of its nearest parent when the field itself is not there.
func (d *decoder) at(path string) Source {
	source := d.source
	source.Line = d.doc.first()
	root := d.nodes()
	if root == nil || path == "" {
		return source
	}
	if line := lineOf(root, steps(path)); line > 0 {
		source.Line = d.doc.line + line - 1
	}
	return source
}

// nodes parses the document once more, keeping positions. Where that would
// take long, as in a large dump, the document alone must do.
func (d *decoder) nodes() *yamlv3.Node {
	if d.tree == nil && !d.untraceable {
		var root yamlv3.Node
		if len(d.doc.data) > MaxDocument || yamlv3.Unmarshal(d.doc.data, &root) != nil || len(root.Content) == 0 {
			d.untraceable = true
			return nil
		}
		d.tree = root.Content[0]
	}
	return d.tree
}

// steps takes a path apart: field names and [i].
func steps(path string) []string {
	path = strings.ReplaceAll(path, "[", ".[")
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
}

// lineOf follows the steps as far as they lead. A field's line is its key's.
// Keys may hold dots themselves (labels do), so several steps may be one key.
func lineOf(node *yamlv3.Node, steps []string) int {
	line := node.Line
	for depth := 0; len(steps) > 0 && depth < maxDepth; depth++ {
		node = target(node)
		var next *yamlv3.Node
		var used, at int
		switch node.Kind {
		case yamlv3.SequenceNode:
			next, used, at = element(node, steps[0])
		case yamlv3.MappingNode:
			next, used, at = entry(node, steps)
		}
		if next == nil {
			return line
		}
		node, steps, line = next, steps[used:], at
	}
	return line
}

// maxDepth bounds the walk where aliases could make it endless.
const maxDepth = 1000

func target(node *yamlv3.Node) *yamlv3.Node {
	for i := 0; i < maxDepth && node.Kind == yamlv3.AliasNode && node.Alias != nil; i++ {
		node = node.Alias
	}
	return node
}

func element(list *yamlv3.Node, step string) (*yamlv3.Node, int, int) {
	i, err := strconv.Atoi(strings.Trim(step, "[]"))
	if err != nil || i < 0 || i >= len(list.Content) {
		return nil, 0, 0
	}
	return list.Content[i], 1, list.Content[i].Line
}

// entry finds the last of equal keys, so that a repeated field's line is the repetition's.
func entry(mapping *yamlv3.Node, steps []string) (value *yamlv3.Node, used, line int) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		for n := 1; n <= len(steps); n++ {
			if n >= used && key.Value == strings.Join(steps[:n], ".") {
				value, used, line = mapping.Content[i+1], n, key.Line
			}
		}
	}
	return value, used, line
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// syntax words what the YAML parser could not read; its lines count from the
// document's start, so they are moved to the file's.
func (d *decoder) syntax(err error) error {
	source := d.source
	source.Line = d.doc.line
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	text, _, _ = strings.Cut(text, "\n")
	if at := yamlLine.FindStringSubmatchIndex(text); at != nil {
		if n, err := strconv.Atoi(text[at[2]:at[3]]); err == nil {
			source.Line = d.doc.line + n - 1
		}
		text = text[:at[0]] + text[at[1]:]
	}
	if key, ok := strings.CutSuffix(text, " already set in map"); ok {
		return source.errorf("duplicate field %s", strings.TrimPrefix(key, "key "))
	}
	return source.errorf("this is neither YAML nor JSON: %s", text)
}

// culprit finds the innermost value of data that does not decode into its
// place in a value of into's type, and the error of that one value.
func culprit(data []byte, into any) (path string, cause error) {
	return culpritOf(data, reflect.TypeOf(into).Elem(), 0)
}

func culpritOf(data []byte, t reflect.Type, depth int) (string, error) {
	err := kjson.UnmarshalCaseSensitivePreserveInts(data, reflect.New(t).Interface())
	if err == nil || depth > maxDepth {
		return "", err
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return "", err
	}
	path, inner := "", error(nil)
	switch t.Kind() {
	case reflect.Struct:
		path, inner = culpritField(data, t, depth)
	case reflect.Slice:
		path, inner = culpritElement(data, t.Elem(), depth)
	case reflect.Map:
		path, inner = culpritEntry(data, func(string) (reflect.Type, bool) { return t.Elem(), true }, depth)
	}
	if inner == nil {
		return "", err
	}
	return path, inner
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func culpritField(data []byte, t reflect.Type, depth int) (string, error) {
	fields := map[string]reflect.Type{}
	jsonFields(t, fields)
	return culpritEntry(data, func(key string) (reflect.Type, bool) { f, ok := fields[key]; return f, ok }, depth)
}

func culpritElement(data []byte, t reflect.Type, depth int) (string, error) {
	var elements []json.RawMessage
	if json.Unmarshal(data, &elements) != nil {
		return "", nil
	}
	for i, element := range elements {
		if path, err := culpritOf(element, t, depth+1); err != nil {
			return join(fmt.Sprintf("[%d]", i), path), err
		}
	}
	return "", nil
}

func culpritEntry(data []byte, typeOf func(string) (reflect.Type, bool), depth int) (string, error) {
	var entries map[string]json.RawMessage
	if json.Unmarshal(data, &entries) != nil {
		return "", nil
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		t, known := typeOf(key)
		if !known {
			continue
		}
		if path, err := culpritOf(entries[key], t, depth+1); err != nil {
			return join(key, path), err
		}
	}
	return "", nil
}

// jsonFields collects the types of a struct's fields by their JSON names.
func jsonFields(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && (name == "" || strings.Contains(options, "inline")) && field.Type.Kind() == reflect.Struct {
			jsonFields(field.Type, into)
			continue
		}
		if name != "" && name != "-" {
			into[name] = field.Type
		}
	}
}

// valueName is a JSON type of the decoder in a user's words.
func valueName(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return "a " + value
}

// typeName is a Go type in a user's words.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return t.String()
}
