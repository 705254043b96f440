package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// decodeList decodes a dump that is one JSON list of objects, as kubectl get -o
// json prints it, item by item. It reports false for everything else, which
// then takes the usual way and gets its errors.
func (r Reader) decodeList(file string, data []byte) (*Set, bool, error) {
	var list header
	var items []byte
	end := members(data, func(key, value []byte) bool {
		switch string(key) {
		case "items":
			items = value
		default:
			list.note(key, value)
		}
		return true
	})
	gv, err := schema.ParseGroupVersion(list.APIVersion)
	if end < 0 || blanks(data, end) != len(data) || items == nil || err != nil || !isList(gv.WithKind(list.Kind)) {
		return nil, false, nil
	}
	var all [][]byte
	if !elements(items, func(item []byte) { all = append(all, item) }) {
		return nil, false, nil
	}
	d := decoder{doc: document{data: data, line: 1, json: true}, mode: Lenient, events: r.Events, source: Source{File: file, Document: 1}}
	set, err := r.decodeItems(d, all, impliedKind(gv.WithKind(list.Kind)))
	return set, true, err
}

// stretch is how many items are decoded in one go.
const stretch = 500

// decodeItems decodes stretches of a list side by side where the reader may;
// the set and the error are those of decoding one item after the other.
func (r Reader) decodeItems(d decoder, items [][]byte, implied schema.GroupVersionKind) (*Set, error) {
	parts := slices.Collect(slices.Chunk(items, stretch))
	sets, errs := make([]*Set, len(parts)), make([]error, len(parts))
	r.each(len(parts), func(i int) {
		own := d
		own.set = &Set{}
		for j, item := range parts[i] {
			if errs[i] == nil {
				errs[i] = own.item(item, "items["+strconv.Itoa(i*stretch+j)+"]", implied)
			}
		}
		sets[i] = own.set
	})
	whole := &Set{Items: make([]Item, 0, len(items))}
	for i, set := range sets {
		if errs[i] != nil {
			return nil, errs[i]
		}
		whole.Append(set)
	}
	return whole, nil
}

// each does things one after the other, or as the reader was told.
func (r Reader) each(n int, do func(i int)) {
	if r.Each != nil {
		r.Each(n, do)
		return
	}
	for i := range n {
		do(i)
	}
}

// item decodes an item of a list whose header need not be decoded to be known.
func (d *decoder) item(item []byte, path string, implied schema.GroupVersionKind) error {
	var head header
	members(item, func(key, value []byte) bool {
		head.note(key, value)
		return head.APIVersion == "" || head.Kind == ""
	})
	if head.APIVersion == "" && head.Kind == "" {
		head.APIVersion, head.Kind = implied.ToAPIVersionAndKind()
	}
	gv, err := schema.ParseGroupVersion(head.APIVersion)
	if found, _ := lookup(gv.WithKind(head.Kind)); found != nil && err == nil && (!found.story || d.events) {
		if obj, ok := d.shared(item, found); ok {
			return d.enter(obj, item, path, found)
		}
		d.spare = compact(d.spare[:0], item)
		return d.typed(d.spare, path, found, head)
	}
	if !bytes.HasPrefix(item, []byte("{")) {
		return d.notObject(item, path)
	}
	return d.object(item, path, implied)
}

// note takes a member that says what an object is.
func (h *header) note(key, value []byte) {
	var to *string
	switch string(key) {
	case "apiVersion":
		to = &h.APIVersion
	case "kind":
		to = &h.Kind
	default:
		return
	}
	if last := len(value) - 1; last > 0 && value[0] == '"' && plain(value, 1) == last {
		*to = string(value[1:last])
	} else if json.Unmarshal(value, to) != nil {
		*to = ""
	}
}
