package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxValue is how many characters of a value a Field keeps.
const maxValue = 160

// Diff lists what differs between two versions of an object as a person would
// change it: what the server fills in itself (status, resourceVersion,
// managedFields and the like) is left out. List items are matched by name where
// all of them have one. Paths are in the order of the JSON keys, which sorts
// them; long values are cut. It returns nil when before or after is nil, and
// for objects that are not JSON.
func Diff(before, after any) []Field {
	a, b := plain(before), plain(after)
	if a == nil || b == nil {
		return nil
	}
	var d differ
	d.compare("", "", a, b)
	return d.fields
}

// plain is an object as JSON values, without what is the server's.
func plain(obj any) map[string]any {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var m map[string]any
	if decoder.Decode(&m) != nil {
		return nil
	}
	delete(m, "status")
	if meta, ok := m["metadata"].(map[string]any); ok {
		for _, key := range []string{"resourceVersion", "uid", "generation", "managedFields", "creationTimestamp", "selfLink"} {
			delete(meta, key)
		}
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			maps.DeleteFunc(annotations, func(key string, _ any) bool { return serversAnnotation(key) })
		}
	}
	return m
}

func serversAnnotation(key string) bool {
	return key == "kubectl.kubernetes.io/last-applied-configuration" || strings.HasPrefix(key, "deployment.kubernetes.io/")
}

type differ struct{ fields []Field }

// compare adds the differences between two values of one place: path has list
// items by number, named has them by name.
func (d *differ) compare(path, named string, a, b any) {
	am, aIsMap := a.(map[string]any)
	bm, bIsMap := b.(map[string]any)
	al, aIsList := a.([]any)
	bl, bIsList := b.([]any)
	switch {
	case aIsMap && bIsMap, aIsMap && b == nil && flat(am), bIsMap && a == nil && flat(bm):
		d.compareMaps(path, named, am, bm)
	case aIsList && bIsList:
		d.compareLists(path, named, al, bl)
	case !reflect.DeepEqual(a, b) && !(empty(a) && empty(b)):
		d.add(path, named, a, b)
	}
}

func (d *differ) add(path, named string, a, b any) {
	f := Field{Path: path, From: shortened(a), To: shortened(b)}
	if named != path {
		f.Named = named
	}
	d.fields = append(d.fields, f)
}

func (d *differ) compareMaps(path, named string, a, b map[string]any) {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		d.compare(joined(path, key), joined(named, key), a[key], b[key])
	}
}

func (d *differ) compareLists(path, named string, a, b []any) {
	key := nameKey(a, b)
	if key == "" {
		for i := range max(len(a), len(b)) {
			d.compare(item(path, i), item(named, i), at(a, i), at(b, i))
		}
		return
	}
	for i, value := range b {
		name := value.(map[string]any)[key]
		if was := indexOf(a, key, name); was >= 0 {
			d.compare(item(path, i), item(named, name), a[was], value)
		} else {
			d.add(item(path, i), item(named, name), nil, value)
		}
	}
	for i, value := range a {
		if name := value.(map[string]any)[key]; indexOf(b, key, name) < 0 {
			d.add(item(path, i), item(named, name), value, nil)
		}
	}
}

// nameKey is the key that tells all items of both lists apart; empty when there is none.
func nameKey(a, b []any) string {
	for _, key := range []string{"name", "mountPath", "containerPort"} {
		if len(a)+len(b) > 0 && tellsApart(a, key) && tellsApart(b, key) {
			return key
		}
	}
	return ""
}

func tellsApart(list []any, key string) bool {
	seen := map[any]bool{}
	for _, value := range list {
		m, _ := value.(map[string]any)
		switch name := m[key].(type) {
		case string, json.Number:
			if seen[name] {
				return false
			}
			seen[name] = true
		default:
			return false
		}
	}
	return true
}

func indexOf(list []any, key string, name any) int {
	return slices.IndexFunc(list, func(value any) bool { return value.(map[string]any)[key] == name })
}

func at(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// joined adds a key to a path; keys that a path cannot show as they are, such
// as those of annotations, are quoted.
func joined(path, key string) string {
	if strings.ContainsAny(key, "./[] ") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func item(path string, name any) string { return fmt.Sprintf("%s[%v]", path, name) }

// flat maps (labels, limits) are compared key by key even when one side has none.
func flat(m map[string]any) bool {
	for _, value := range m {
		switch value.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// shortened is a value on one line, cut when it is long; empty for none.
func shortened(v any) string {
	text := ""
	switch v := v.(type) {
	case nil:
	case string:
		text = v
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		text = string(data)
	}
	if utf8.RuneCountInString(text) <= maxValue {
		return text
	}
	runes := []rune(text)
	return fmt.Sprintf("%s… (%d characters)", string(runes[:maxValue]), len(runes))
}
