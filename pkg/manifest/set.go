// Package manifest reads files and streams into typed objects. It knows where
// every object came from, so that an error can name the file, the document and
// the line. It never decides anything about rollouts.
package manifest

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is one typed API object with its kind and apiVersion set.
type Object interface {
	metav1.Object
	runtime.Object
}

// Source is where something was read.
type Source struct {
	File     string // as the user wrote it; "standard input" for -
	Document int    // from 1 on, counting documents that hold something; 0 for the whole file
	Line     int    // in the file, from 1 on; 0 when unknown
}

// String is FILE: document 2, line 7. Control characters are escaped.
func (s Source) String() string {
	out := Printable(s.File)
	if s.Document > 0 {
		out += ": document " + strconv.Itoa(s.Document)
	}
	if s.Line > 0 {
		out += ", line " + strconv.Itoa(s.Line)
	}
	return out
}

// Error is a wrong input and where it is.
type Error struct {
	Source Source
	Reason string // what is wrong and, where it is not plain, what to do
}

func (e *Error) Error() string { return e.Source.String() + ": " + Printable(e.Reason) }

func (s Source) errorf(format string, args ...any) error {
	return &Error{s, fmt.Sprintf(format, args...)}
}

// Item is an object and where it was read.
type Item struct {
	Object Object
	Source Source
	// Raw is the object as JSON as it was written, for Strict inputs: what a
	// typed object cannot tell is which fields were left out.
	Raw []byte

	place func(path string) Source
}

// At is where a field of the object was written, as in spec.steps[0].at, or its
// nearest parent; where that is not known, where the object was.
func (i Item) At(path string) Source {
	if i.place == nil {
		return i.Source
	}
	return i.place(path)
}

// Set is what one or several inputs hold, in the order in which it was read.
type Set struct {
	Items   []Item
	ignored []count
}

type count struct {
	kind string
	n    int
}

// Objects are the typed objects in order.
func (s *Set) Objects() []Object {
	out := make([]Object, len(s.Items))
	for i, item := range s.Items {
		out[i] = item.Object
	}
	return out
}

// Ignored names the kinds that were read and mean nothing here, as in
// "2 Service, 1 ConfigMap"; it is empty when there were none.
func (s *Set) Ignored() string {
	parts := make([]string, len(s.ignored))
	for i, c := range s.ignored {
		parts[i] = fmt.Sprintf("%d %s", c.n, Printable(c.kind))
	}
	return strings.Join(parts, ", ")
}

// Append adds what another set holds.
func (s *Set) Append(other *Set) {
	s.Items = append(s.Items, other.Items...)
	for _, c := range other.ignored {
		s.ignore(c.kind, c.n)
	}
}

func (s *Set) ignore(kind string, n int) {
	for i := range s.ignored {
		if s.ignored[i].kind == kind {
			s.ignored[i].n += n
			return
		}
	}
	s.ignored = append(s.ignored, count{kind, n})
}

// DefaultNamespace gives every namespaced object without a namespace this one.
// With enforce (the user passed -n), an object in another namespace is an error
// with kubectl's words.
func (s *Set) DefaultNamespace(namespace string, enforce bool) error {
	for _, item := range s.Items {
		if !namespaced(item.Object) {
			continue
		}
		switch own := item.Object.GetNamespace(); {
		case own == "":
			item.Object.SetNamespace(namespace)
		case enforce && own != namespace:
			return item.Source.errorf("the namespace from the provided object %q does not match the namespace %q. "+
				"You must pass '--namespace=%s' to perform this operation.", own, namespace, own)
		}
	}
	return nil
}

// Unique refuses a set in which an object appears twice.
func (s *Set) Unique() error {
	seen := map[string]Source{}
	for _, item := range s.Items {
		key := Name(item.Object) + "\x00" + item.Object.GetNamespace()
		if first, ok := seen[key]; ok {
			return item.Source.errorf("%s is here a second time: it is also at %s", Name(item.Object), first)
		}
		seen[key] = item.Source
	}
	return nil
}

// Name is kind/name for messages.
func Name(obj Object) string {
	return obj.GetObjectKind().GroupVersionKind().Kind + "/" + Printable(obj.GetName())
}

// Printable escapes control characters and everything else that could move a
// terminal's cursor or forge a line.
func Printable(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if unprintable(r) {
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }

// Latest is the set with each object once, as it was read last: dumps overlap.
func (s *Set) Latest() *Set {
	type named struct{ kind, namespace, name string }
	last, again := make(map[named]int, len(s.Items)), false
	key := func(o Object) named {
		return named{o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName()}
	}
	for i, item := range s.Items {
		at := key(item.Object)
		if _, ok := last[at]; ok {
			again = true
		}
		last[at] = i
	}
	if !again {
		return s
	}
	out := &Set{ignored: s.ignored}
	for i, item := range s.Items {
		if last[key(item.Object)] == i {
			out.Items = append(out.Items, item)
		}
	}
	return out
}
