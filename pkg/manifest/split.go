package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// document is one piece of a file that holds one value.
type document struct {
	data []byte
	line int  // of its first byte in the file, from 1 on
	json bool // else YAML
}

// first is the line, in the file, of the first thing in the document that is
// not a comment.
func (d document) first() int {
	line := d.line
	for rest := d.data; len(rest) > 0; line++ {
		text, after, _ := bytes.Cut(rest, []byte("\n"))
		if !blank(text) {
			return line
		}
		rest = after
	}
	return d.line
}

// split cuts a file at its document separators and its JSON values. Pieces
// that hold nothing but blanks, comments and directives are left out.
func split(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var out []document
	start, startLine, line := 0, 1, 0
	for at := 0; at < len(data); {
		line++
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if rest, ok := separator(data[at:next]); ok {
			out = appendDocuments(out, data[start:at], startLine)
			start, startLine = at+rest, line
		}
		at = next
	}
	return appendDocuments(out, data[start:], startLine)
}

// separator reports whether a line ends a document, and how many of its bytes
// are the mark: what follows "--- " on the same line belongs to the next one.
func separator(line []byte) (int, bool) {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return 0, false
	}
	if len(line) > 3 && bytes.IndexByte([]byte(" \t\r\n"), line[3]) < 0 {
		return 0, false
	}
	return 3, true
}

func appendDocuments(out []document, piece []byte, line int) []document {
	if blank(piece) {
		return out
	}
	if values, ok := splitJSON(piece, line); ok {
		return append(out, values...)
	}
	return append(out, document{data: piece, line: line})
}

func blank(piece []byte) bool {
	for len(piece) > 0 {
		var line []byte
		line, piece, _ = bytes.Cut(piece, []byte("\n"))
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// splitJSON takes a piece apart that is a sequence of JSON objects. It reports
// false when it is not, as a flow mapping of YAML is not.
func splitJSON(piece []byte, line int) ([]document, bool) {
	if trimmed := bytes.TrimSpace(piece); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	var out []document
	decoder := json.NewDecoder(bytes.NewReader(piece))
	at := 0
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return out, true
		}
		if err != nil {
			return nil, false
		}
		end := int(decoder.InputOffset())
		line += bytes.Count(piece[at:end-len(value)], []byte("\n"))
		out = append(out, document{data: value, line: line, json: true})
		line += bytes.Count(value, []byte("\n"))
		at = end
	}
}
