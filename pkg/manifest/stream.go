package manifest

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// How a large list is read: so many bytes at a time, which are decoded while the
// next are read, in stretches of so many items.
const (
	windowSize    = 8 << 20
	windowStretch = 64
)

// errUsual says that an input is to be read the usual way, which takes all
// there is and words the errors.
var errUsual = errors.New("this is no list that can be read item by item")

// streamList decodes a dump that is one JSON list without holding all of it in
// memory, but so many bytes at a time. Whatever is not as kubectl and API servers print it is errUsual: the
// input is then to be read again as a whole.
func (r Reader) streamList(name string, in io.Reader, size int) (*Set, error) {
	l := &listReader{reader: r, in: in, size: size, source: Source{File: name, Document: 1}, first: true, hungry: true}
	for l.where != atEnd || len(l.ready) > 0 {
		if err := l.round(); err != nil {
			return nil, err
		}
	}
	if gv, err := schema.ParseGroupVersion(l.list.APIVersion); err != nil || !l.seen["items"] || !isList(gv.WithKind(l.list.Kind)) {
		return nil, errUsual
	}
	whole := &Set{Items: make([]Item, 0, l.count)}
	for _, set := range l.sets {
		whole.Append(set)
	}
	return whole, nil
}

// listReader reads a list in windows: while the items of one are decoded, the
// next is read.
type listReader struct {
	reader  Reader
	in      io.Reader
	size    int // of a window, in bytes
	source  Source
	sharers sharers

	window []byte // what has been read
	at     int    // how much of it is taken apart
	spare  []byte // the window before, to be written over
	hungry bool   // the next thing needs more than the window has
	ended  bool   // there is nothing left to read

	where place
	first bool // nothing has come yet where a comma would stand between
	seen  map[string]bool
	list  header

	ready [][]byte // items to decode
	count int      // items found
	sets  []*Set
}

// place is where in the list a reader is.
type place int

const (
	beforeList place = iota
	amongMembers
	amongItems
	afterList
	atEnd
)

// round decodes what is ready while it finds the items of the next window.
func (l *listReader) round() error {
	items, from := l.ready, l.count-len(l.ready)
	l.ready = nil
	implied := schema.GroupVersionKind{}
	if gv, err := schema.ParseGroupVersion(l.list.APIVersion); err == nil && l.list.Kind != "" {
		implied = impliedKind(gv.WithKind(l.list.Kind))
	}
	parts := (len(items) + windowStretch - 1) / windowStretch
	sets, errs := make([]*Set, parts), make([]error, parts+1)
	l.reader.each(parts+1, func(i int) {
		if i == 0 {
			errs[0] = l.next()
			return
		}
		begin := (i - 1) * windowStretch
		sets[i-1], errs[i] = l.decode(items[begin:min(begin+windowStretch, len(items))], from+begin, implied)
	})
	l.sets = append(l.sets, sets...)
	return errors.Join(errs...)
}

// decode decodes a stretch of items.
func (l *listReader) decode(items [][]byte, from int, implied schema.GroupVersionKind) (*Set, error) {
	share := l.sharers.take()
	defer l.sharers.give(share)
	d := decoder{doc: document{line: 1, json: true}, mode: Lenient, events: l.reader.Events, source: l.source, share: share}
	d.set = &Set{Items: make([]Item, 0, len(items))}
	for i, item := range items {
		if d.item(item, "items["+strconv.Itoa(from+i)+"]", implied) != nil {
			return nil, errUsual
		}
	}
	return d.set, nil
}

// next takes apart what the next window brings.
func (l *listReader) next() error {
	if l.where == atEnd {
		return nil
	}
	if l.hungry {
		if err := l.fill(); err != nil {
			return err
		}
	}
	for !l.hungry && l.where != atEnd {
		if !l.step() {
			return errUsual
		}
	}
	return nil
}

// fill reads more behind what is left of the window. The items found in the
// window stay where they are until they are decoded.
func (l *listReader) fill() error {
	if l.ended {
		return errUsual // the input breaks off
	}
	left := l.window[l.at:]
	buffer := l.spare[:cap(l.spare)]
	if need := len(left) + l.size; len(buffer) < need {
		buffer = make([]byte, need)
	}
	copied := copy(buffer, left)
	n, err := io.ReadFull(l.in, buffer[copied:])
	l.spare, l.window, l.at, l.hungry = l.window, buffer[:copied+n], 0, false
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		l.ended, err = true, nil
	}
	return err
}

// step takes one thing from the window, or finds that it needs more; false
// means that the input is none to be read so.
func (l *listReader) step() bool {
	at := blanks(l.window, l.at)
	if at == len(l.window) {
		if l.where == afterList && l.ended {
			l.where = atEnd
		} else {
			l.hungry = true
		}
		return true
	}
	switch l.where {
	case beforeList:
		l.where, l.at = amongMembers, at+1
		return at == 0 && l.window[0] == '{'
	case amongMembers:
		return l.separated(at, '}', afterList, l.member)
	case amongItems:
		return l.separated(at, ']', amongMembers, l.item)
	}
	return false // something follows the list
}

// separated takes a closing mark, after which the reader is elsewhere, or the
// next of what stands between commas.
func (l *listReader) separated(at int, closing byte, then place, one func(at int) bool) bool {
	if l.window[at] == closing {
		l.where, l.at, l.first = then, at+1, false
		return true
	}
	if !l.first {
		if l.window[at] != ',' {
			return false
		}
		if at = blanks(l.window, at+1); at == len(l.window) {
			l.hungry = true
			return true
		}
	}
	return one(at)
}

// member takes a member of the list object, and of the items only their beginning.
func (l *listReader) member(at int) bool {
	if l.window[at] != '"' {
		return false
	}
	end := pastString(l.window, at)
	colon := blanks(l.window, max(end, 0))
	if end < 0 || colon == len(l.window) {
		l.hungry = true
		return true
	}
	from := blanks(l.window, colon+1)
	if from == len(l.window) {
		l.hungry = true
		return true
	}
	key := string(l.window[at+1 : end-1])
	if l.window[colon] != ':' || l.seen[key] {
		return false
	}
	if key == "items" {
		l.note(key)
		l.where, l.at, l.first = amongItems, from+1, true
		return l.window[from] == '['
	}
	to := pastValue(l.window, from)
	if to < 0 || to == len(l.window) {
		l.hungry = true
		return true
	}
	value := l.window[from:to]
	l.note(key)
	l.list.note([]byte(key), value)
	l.at, l.first = to, false
	return json.Valid(value)
}

func (l *listReader) note(key string) {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[key] = true
}

// item finds the end of an item.
func (l *listReader) item(at int) bool {
	if l.window[at] != '{' {
		return false
	}
	end := pastValue(l.window, at)
	if end < 0 {
		l.hungry = true
		return true
	}
	l.ready = append(l.ready, l.window[at:end])
	l.count++
	l.at, l.first = end, false
	return true
}
