package manifest

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// oddBytes are those that mean something to a scanner, and their neighbours.
var oddBytes = []byte("\"\\ \n\t\r\x00\x01\x1f!#[]Z^{}:,a\x7f\x80\xa2\xdc\xff")

// texts are mostly plain letters and blanks, in runs that cross groups of eight.
func texts() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var out []byte
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			run := rapid.SampledFrom([]byte("a Z\n")).Draw(t, "of")
			out = append(out, bytes.Repeat([]byte{run}, rapid.IntRange(0, 20).Draw(t, "length"))...)
			out = append(out, rapid.SampledFrom(oddBytes).Draw(t, "odd"))
		}
		return out
	})
}

// TestPlain and TestBlanks hold what looks at eight bytes at once against what
// looks at each.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := texts().Draw(t, "text")
		at := rapid.IntRange(0, len(data)).Draw(t, "at")
		want := at
		for want < len(data) && data[want] >= ' ' && data[want] < 0x80 && data[want] != '"' && data[want] != '\\' {
			want++
		}
		if got := plain(data, at); got != want {
			t.Fatalf("%q from %d: plain to %d, not %d", data, at, got, want)
		}
	})
}

func TestBlanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := texts().Draw(t, "text")
		at := rapid.IntRange(0, len(data)).Draw(t, "at")
		want := at
		for want < len(data) && bytes.IndexByte([]byte(" \n\t\r"), data[want]) >= 0 {
			want++
		}
		if got := blanks(data, at); got != want {
			t.Fatalf("%q from %d: blank to %d, not %d", data, at, got, want)
		}
	})
}

// TestPastValue finds the end of strings, lists and objects that hold any text,
// whatever follows them, and compacts them as encoding/json does.
func TestPastValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inner := string(texts().Draw(t, "text"))
		indent := rapid.SampledFrom([]string{"", " ", "\t", "         "}).Draw(t, "indent")
		value := rapid.SampledFrom([]any{inner, []any{inner, []any{}, 7}, map[string]any{inner: map[string]any{"k": inner}}, -1.5e3, nil, true}).Draw(t, "value")
		written, err := json.MarshalIndent(value, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		after := rapid.SampledFrom([]string{"", ",", "]", "}", " \"x\"", "\n"}).Draw(t, "after")
		data := append(bytes.Clone(written), after...)
		if got := pastValue(data, 0); got != len(written) {
			t.Fatalf("%q ends at %d, not %d", data, got, len(written))
		}
		var want bytes.Buffer
		if err := json.Compact(&want, written); err != nil {
			t.Fatal(err)
		}
		if got := compact(nil, written); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q, not %q", got, want.Bytes())
		}
	})
}
