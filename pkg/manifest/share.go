package manifest

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"reflect"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// sharer decodes pods and nodes of which thousands say the same: what is
// written alike becomes one value that all of them point to, so that it is
// decoded and held once. The objects are those that the usual decoder makes, and
// nothing they point to may be changed. Not safe for concurrent use.
type sharer struct {
	plans  map[reflect.Type]*plan
	values map[reflect.Type]map[string]reflect.Value
	kept   int // bytes of the texts that values are kept by

	seed    maphash.Seed
	strings [4096]string
}

// mostKept is how many bytes of text are remembered before all is forgotten:
// alike pods stand near one another.
const mostKept = 4 << 20

// shares says whether objects of a type come by the thousand.
func shares(obj Object) bool {
	switch obj.(type) {
	case *corev1.Pod, *corev1.Node:
		return true
	}
	return false
}

// sharers lends sharers to those who decode side by side.
type sharers struct {
	mu   sync.Mutex
	free []*sharer
}

func (s *sharers) take() *sharer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		out := s.free[n-1]
		s.free = s.free[:n-1]
		return out
	}
	return &sharer{plans: map[reflect.Type]*plan{}, values: map[reflect.Type]map[string]reflect.Value{}, seed: maphash.MakeSeed()}
}

func (s *sharers) give(back *sharer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, back)
}

// decode decodes JSON without blanks into an empty object. It reports false for
// whatever is not plainly right; the object is then to be thrown away, and the
// usual decoder says what is wrong.
func (s *sharer) decode(data []byte, obj Object) bool {
	if s.kept > mostKept {
		clear(s.values)
		s.kept = 0
	}
	return s.value(data, reflect.ValueOf(obj).Elem())
}

// form is how values of a type are decoded.
type form int

const (
	whole form = iota // by the usual decoder
	text
	truth
	number
	pointer
	list
	object
)

// plan is what is known of a type.
type plan struct {
	form   form
	shared bool             // equal texts make one value
	fields map[string]field // of an object
}

type field struct {
	index []int
	place int // in order, for telling fields that come twice
}

// apart are the elements of lists that differ from pod to pod. Containers are
// among them for another reason: a pod is known by where its first one lies.
var apart = map[reflect.Type]bool{
	reflect.TypeFor[corev1.Container](): true, reflect.TypeFor[corev1.EphemeralContainer](): true,
	reflect.TypeFor[corev1.ContainerStatus](): true, reflect.TypeFor[corev1.PodCondition](): true,
	reflect.TypeFor[corev1.Volume](): true, reflect.TypeFor[corev1.VolumeMount](): true,
	reflect.TypeFor[corev1.VolumeMountStatus](): true, reflect.TypeFor[corev1.NodeCondition](): true,
}

func (s *sharer) planOf(t reflect.Type) *plan {
	if p := s.plans[t]; p != nil {
		return p
	}
	p := newPlan(t)
	s.plans[t] = p
	return p
}

func newPlan(t reflect.Type) *plan {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return &plan{shared: t == reflect.TypeFor[metav1.Time]()}
	}
	switch t.Kind() {
	case reflect.String:
		return &plan{form: text}
	case reflect.Bool:
		return &plan{form: truth}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &plan{form: number}
	case reflect.Map:
		return &plan{shared: true}
	case reflect.Pointer:
		return &plan{form: pointer, shared: true}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return &plan{form: list, shared: !apart[t.Elem()]}
		}
	case reflect.Struct:
		p := &plan{form: object, fields: map[string]field{}}
		p.add(t, nil)
		return p
	}
	return &plan{}
}

// add takes in the fields of a struct as encoding/json does; those of structs
// that are part of it by name only count as its own.
func (p *plan) add(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(at[:len(at):len(at)], i)
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			p.add(f.Type, index)
		case name != "":
			p.fields[name] = field{index, len(p.fields)}
		}
	}
}

// value decodes into an empty value.
func (s *sharer) value(data []byte, into reflect.Value) bool {
	t := into.Type()
	p := s.planOf(t)
	if !p.shared {
		return s.anew(p, data, into)
	}
	known := s.values[t]
	if was, ok := known[string(data)]; ok {
		into.Set(was)
		return true
	}
	if !s.anew(p, data, into) {
		return false
	}
	if known == nil {
		known = map[string]reflect.Value{}
		s.values[t] = known
	}
	kept := reflect.New(t).Elem()
	kept.Set(into)
	known[string(data)] = kept
	s.kept += len(data)
	return true
}

func (s *sharer) anew(p *plan, data []byte, into reflect.Value) bool {
	if p.form != whole && string(data) == "null" {
		return true
	}
	switch p.form {
	case text:
		return s.text(data, into)
	case truth:
		into.SetBool(string(data) == "true")
		return string(data) == "true" || string(data) == "false"
	case number:
		n, err := strconv.ParseInt(string(data), 10, into.Type().Bits())
		into.SetInt(n)
		return err == nil && plainInteger(data)
	case pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return s.value(data, into.Elem())
	case list:
		return s.list(data, into)
	case object:
		return s.object(p, data, into)
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into.Addr().Interface()) == nil
}

// plainInteger: JSON has neither a plus nor leading zeros.
func plainInteger(data []byte) bool {
	digits := bytes.TrimPrefix(data, []byte("-"))
	return len(digits) > 0 && digits[0] != '+' && (digits[0] != '0' || len(digits) == 1)
}

// text decodes a string. One with anything but plain letters is left to the
// usual decoder.
func (s *sharer) text(data []byte, into reflect.Value) bool {
	if len(data) < 2 || data[0] != '"' {
		return false
	}
	inner := data[1 : len(data)-1]
	for _, c := range inner {
		if c < ' ' || c >= 0x80 || c == '\\' || c == '"' {
			return kjson.UnmarshalCaseSensitivePreserveInts(data, into.Addr().Interface()) == nil
		}
	}
	slot := &s.strings[maphash.Bytes(s.seed, inner)%uint64(len(s.strings))]
	if *slot != string(inner) {
		*slot = string(inner)
	}
	into.SetString(*slot)
	return true
}

func (s *sharer) list(data []byte, into reflect.Value) bool {
	var room [16][]byte
	items := room[:0]
	if !elements(data, func(item []byte) { items = append(items, item) }) {
		return false
	}
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		if !s.value(item, into.Index(i)) {
			return false
		}
	}
	return true
}

func (s *sharer) object(p *plan, data []byte, into reflect.Value) bool {
	var seen [2]uint64
	right := true
	end := members(data, func(key, value []byte) bool {
		f, known := p.fields[string(key)]
		switch {
		case !known:
			// Dropped, as the usual decoder does; a key may still be written oddly.
			right = json.Valid(value) && bytes.IndexFunc(key, func(c rune) bool { return c < ' ' || c >= 0x80 || c == '\\' }) < 0
		case f.place >= 128 || seen[f.place/64]&(1<<(f.place%64)) != 0:
			right = false
		default:
			seen[f.place/64] |= 1 << (f.place % 64)
			right = s.value(value, into.FieldByIndex(f.index))
		}
		return right
	})
	return right && end == len(data)
}
