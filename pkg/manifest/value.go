package manifest

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"reflect"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// decode decodes JSON into an empty object. It reports false for whatever is
// not plainly right; the object is then to be thrown away, and the usual decoder
// says what is wrong.
func (s *sharer) decode(data []byte, obj Object) bool {
	into := reflect.ValueOf(obj).Elem()
	s.data = data
	end := s.value(s.planOf(into.Type()), blanks(data, 0), into)
	s.data = nil
	return end >= 0 && blanks(data, end) == len(data)
}

// value decodes what begins at a place into an empty value, and returns where
// it ends; -1 where it is not plainly right. So do all that follow. Each byte is
// looked at once, but for values that are looked up before they are decoded.
func (s *sharer) value(p *plan, at int, into reflect.Value) int {
	if !p.shared {
		return s.anew(p, at, into)
	}
	_, end := s.lookUp(p, at, into)
	return end
}

// field is value for a field, where the next object often says what the last one said.
func (s *sharer) field(f *field, at int, into reflect.Value) int {
	if !f.plan.shared {
		return s.anew(f.plan, at, into)
	}
	if n := len(f.last.text); n > 0 && len(s.data)-at > n && string(s.data[at:at+n]) == f.last.text && delimits(s.data[at+n]) {
		into.Set(f.last.value)
		return at + n
	}
	found, end := s.lookUp(f.plan, at, into)
	if end >= 0 {
		f.last = found
	}
	return end
}

// lookUp decodes a value that may have been seen.
func (s *sharer) lookUp(p *plan, at int, into reflect.Value) (found kept, end int) {
	if end = pastValue(s.data, at); end < 0 {
		return found, -1
	}
	written := s.data[at:end]
	if was, ok := p.kept[string(written)]; ok {
		into.Set(was.value)
		return was, end
	}
	if s.anew(p, at, into) != end {
		return found, -1
	}
	return p.keep(written, into), end
}

func (s *sharer) anew(p *plan, at int, into reflect.Value) int {
	if at >= len(s.data) {
		return -1
	}
	if p.form != whole && bytes.HasPrefix(s.data[at:], []byte("null")) {
		return at + len("null")
	}
	switch p.form {
	case text:
		return s.text(at, into)
	case truth:
		return s.truth(at, into)
	case number:
		return s.number(at, into)
	case moment:
		return s.moment(at, into)
	case pairs:
		return s.pairs(at, into)
	case pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return s.value(p.of, at, into.Elem())
	case list:
		return s.list(p, at, into)
	case object:
		return s.object(p, at, into)
	}
	return s.usual(at, into)
}

// usual leaves a value to the usual decoder.
func (s *sharer) usual(at int, into reflect.Value) int {
	end := pastValue(s.data, at)
	if end < 0 || kjson.UnmarshalCaseSensitivePreserveInts(s.data[at:end], into.Addr().Interface()) != nil {
		return -1
	}
	return end
}

func (s *sharer) truth(at int, into reflect.Value) int {
	for _, word := range []string{"true", "false"} {
		if bytes.HasPrefix(s.data[at:], []byte(word)) {
			into.SetBool(word == "true")
			return at + len(word)
		}
	}
	return -1
}

func (s *sharer) number(at int, into reflect.Value) int {
	end := pastValue(s.data, at)
	if end < 0 || !plainInteger(s.data[at:end]) {
		return -1
	}
	n, err := strconv.ParseInt(string(s.data[at:end]), 10, into.Type().Bits())
	if err != nil {
		return -1
	}
	into.SetInt(n)
	return end
}

// plainInteger: JSON has neither a plus nor leading zeros.
func plainInteger(data []byte) bool {
	digits := bytes.TrimPrefix(data, []byte("-"))
	return len(digits) > 0 && digits[0] != '+' && (digits[0] != '0' || len(digits) == 1)
}

// quoted is a string that says what it is written as, without its quotes.
func (s *sharer) quoted(at int) (inner []byte, end int) {
	if at >= len(s.data) || s.data[at] != '"' {
		return nil, -1
	}
	if end = plain(s.data, at+1); end >= len(s.data) || s.data[end] != '"' {
		return nil, -1
	}
	return s.data[at+1 : end], end + 1
}

// known is a string, the same in memory as one of late that says the same.
func (s *sharer) known(inner []byte) string {
	slot := &s.strings[maphash.Bytes(s.seed, inner)%uint64(len(s.strings))]
	if *slot != string(inner) {
		*slot = string(inner)
	}
	return *slot
}

func (s *sharer) text(at int, into reflect.Value) int {
	inner, end := s.quoted(at)
	if end < 0 {
		return s.usual(at, into)
	}
	into.SetString(s.known(inner))
	return end
}

// moment decodes a time as metav1.Time does.
func (s *sharer) moment(at int, into reflect.Value) int {
	inner, end := s.quoted(at)
	if end < 0 {
		return s.usual(at, into)
	}
	when, err := time.Parse(time.RFC3339, s.known(inner))
	if err != nil {
		return -1
	}
	into.Addr().Interface().(*metav1.Time).Time = when.Local()
	return end
}

// pairs decodes a map of strings. What is odd about it is the usual decoder's.
func (s *sharer) pairs(at int, into reflect.Value) int {
	out := map[string]string{}
	if s.data[at] != '{' {
		return -1
	}
	end := each(s.data, at+1, '}', func(at int) (int, bool) {
		key, from := s.key(at)
		if from < 0 {
			return -1, false
		}
		value, end := s.quoted(from)
		if end < 0 {
			return -1, false
		}
		before := len(out)
		out[s.known(key)] = s.known(value)
		if len(out) == before { // said twice
			return -1, false
		}
		return end, true
	})
	if end < 0 {
		return s.usual(at, into)
	}
	into.Set(reflect.ValueOf(out))
	return end
}

// key reads the key of a member and where its value begins.
func (s *sharer) key(at int) (key []byte, from int) {
	key, end := s.quoted(at)
	if end < 0 {
		return nil, -1
	}
	colon := blanks(s.data, end)
	if colon == len(s.data) || s.data[colon] != ':' {
		return nil, -1
	}
	return key, blanks(s.data, colon+1)
}

func (s *sharer) list(p *plan, at int, into reflect.Value) int {
	if s.data[at] != '[' {
		return -1
	}
	room, n := p.room, 0
	p.room = reflect.Value{} // a list within this one needs its own
	end := each(s.data, at+1, ']', func(at int) (int, bool) {
		room = withRoom(room, into.Type(), n)
		end := s.value(p.of, at, room.Index(n))
		n++
		return end, true
	})
	if end < 0 {
		return -1
	}
	into.Set(reflect.MakeSlice(into.Type(), n, n))
	if n > 0 {
		reflect.Copy(into, room)
		room.Slice(0, n).Clear()
	}
	p.room = room
	return end
}

// withRoom is a slice with a place for an element after n others.
func withRoom(room reflect.Value, t reflect.Type, n int) reflect.Value {
	if room.IsValid() && n < room.Len() {
		return room
	}
	larger := reflect.MakeSlice(t, 2*n+8, 2*n+8)
	if n > 0 {
		reflect.Copy(larger, room)
	}
	return larger
}

func (s *sharer) object(p *plan, at int, into reflect.Value) int {
	if s.data[at] != '{' {
		return -1
	}
	var seen [2]uint64
	return each(s.data, at+1, '}', func(at int) (int, bool) {
		key, from := s.key(at)
		if from < 0 {
			return -1, false
		}
		f, ok := p.fields[string(key)]
		switch {
		case !ok: // dropped, as the usual decoder does
			end := pastValue(s.data, from)
			if end < 0 || !json.Valid(s.data[from:end]) {
				return -1, false
			}
			return end, true
		case f.place >= 128 || seen[f.place/64]&(1<<(f.place%64)) != 0:
			return -1, false
		}
		seen[f.place/64] |= 1 << (f.place % 64)
		return s.field(f, from, into.FieldByIndex(f.index)), true
	})
}
