package manifest

import (
	"encoding/json"
	"hash/maphash"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharer decodes pods and nodes of which thousands say the same: what is
// written alike becomes one value that all of them point to, so that it is
// decoded and held once. The objects are those that the usual decoder makes, and
// nothing they point to may be changed. Not safe for concurrent use.
type sharer struct {
	plans map[reflect.Type]*plan
	data  []byte // what is being decoded

	seed    maphash.Seed
	strings [4096]string
}

// mostKept is how many bytes of text are remembered of one type before all of
// it is forgotten: alike pods stand near one another.
const mostKept = 2 << 20

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
	return &sharer{plans: map[reflect.Type]*plan{}, seed: maphash.MakeSeed()}
}

func (s *sharers) give(back *sharer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, back)
}

// form is how values of a type are decoded.
type form int

const (
	whole form = iota // by the usual decoder
	text
	truth
	number
	moment // a metav1.Time
	pairs  // a map of strings to strings
	pointer
	list
	object
)

// plan is what is known of a type, and which of its values have been seen.
type plan struct {
	form   form
	of     *plan             // what a pointer or a list is of
	fields map[string]*field // of an object
	shared bool              // equal texts make one value
	kept   map[string]kept
	size   int           // of the texts that values are kept by, in bytes
	room   reflect.Value // for the elements of a list while they are counted
}

type field struct {
	index []int
	place int // in order, for telling fields that come twice
	plan  *plan
	last  kept // the shared value found last
}

// kept is a shared value and the text that it was written as.
type kept struct {
	text  string
	value reflect.Value
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
	p := s.plans[t]
	if p == nil {
		p = &plan{}
		s.plans[t] = p // before its parts, which may be of its own type
		s.learn(p, t)
		if p.shared {
			p.kept = map[string]kept{}
		}
	}
	return p
}

func (s *sharer) learn(p *plan, t reflect.Type) {
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[metav1.Time]():
		p.form = moment
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case kind == reflect.String:
		p.form = text
	case kind == reflect.Bool:
		p.form = truth
	case kind == reflect.Int, kind == reflect.Int32, kind == reflect.Int64:
		p.form = number
	case t == reflect.TypeFor[map[string]string]():
		p.form, p.shared = pairs, true
	case kind == reflect.Map:
		p.shared = true
	case kind == reflect.Pointer:
		p.form, p.shared, p.of = pointer, true, s.planOf(t.Elem())
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		p.form, p.shared, p.of = list, !apart[t.Elem()], s.planOf(t.Elem())
	case kind == reflect.Struct:
		p.form, p.fields = object, map[string]*field{}
		s.fields(p, t, nil)
	}
}

// fields takes in the fields of a struct as encoding/json does; those of structs
// that are part of it by name only count as its own.
func (s *sharer) fields(p *plan, t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(at[:len(at):len(at)], i)
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			s.fields(p, f.Type, index)
		case name != "":
			p.fields[name] = &field{index: index, place: len(p.fields), plan: s.planOf(f.Type)}
		}
	}
}

// keep remembers a value by its text.
func (p *plan) keep(text []byte, value reflect.Value) kept {
	if p.size > mostKept {
		clear(p.kept)
		p.size = 0
	}
	k := kept{string(text), reflect.New(value.Type()).Elem()}
	k.value.Set(value)
	p.kept[k.text] = k
	p.size += len(text)
	return k
}
