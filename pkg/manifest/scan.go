package manifest

import (
	"encoding/binary"
	"math/bits"
)

// A dump of a large cluster is more than a gigabyte of JSON, of which a decoder
// that looks twice at every byte takes minutes. What is needed to take it apart is
// only where values begin and end; whether they are valid is seen as each of
// them is decoded.

// compact appends JSON to dst without the blanks between its parts, which are
// half of what kubectl prints and take a decoder as long as the rest.
func compact(dst, data []byte) []byte {
	for at := blanks(data, 0); at < len(data); at = blanks(data, at) {
		from := at
		if data[at] == '"' {
			if at = pastString(data, at); at < 0 {
				at = len(data)
			}
		} else {
			for at++; at < len(data) && data[at] > ' ' && data[at] != '"'; at++ {
			}
		}
		dst = append(dst, data[from:at]...)
	}
	return dst
}

// members tells f of each member of the JSON object that data begins with,
// until it returns false, and returns where the object ends; -1 when it is none.
// Keys are as written, without their quotes.
func members(data []byte, f func(key, value []byte) bool) int {
	at := blanks(data, 0)
	if at == len(data) || data[at] != '{' {
		return -1
	}
	return each(data, at+1, '}', func(at int) (int, bool) {
		end := pastValue(data, at)
		if end < 0 || data[at] != '"' {
			return -1, false
		}
		colon := blanks(data, end)
		if colon == len(data) || data[colon] != ':' {
			return -1, false
		}
		from := blanks(data, colon+1)
		to := pastValue(data, from)
		if to < 0 {
			return -1, false
		}
		return to, f(data[at+1:end-1], data[from:to])
	})
}

// elements tells f of each element of a JSON array; false when it is none.
func elements(data []byte, f func(value []byte)) bool {
	if len(data) == 0 || data[0] != '[' {
		return false
	}
	return each(data, 1, ']', func(at int) (int, bool) {
		end := pastValue(data, at)
		if end < 0 {
			return -1, false
		}
		f(data[at:end])
		return end, true
	}) == len(data)
}

// each goes from one thing between commas to the next until the closing mark,
// and returns where that ends; -1 when something else is found. one is told
// where a thing begins and returns where it ends; after false nothing follows.
func each(data []byte, at int, closing byte, one func(at int) (int, bool)) int {
	for first := true; ; first = false {
		at = blanks(data, at)
		if at == len(data) {
			return -1
		}
		if data[at] == closing {
			return at + 1
		}
		if !first {
			if data[at] != ',' {
				return -1
			}
			if at = blanks(data, at+1); at == len(data) {
				return -1
			}
		}
		end, more := one(at)
		if end < 0 || !more {
			return end
		}
		at = end
	}
}

// What follows looks at eight bytes at once, each a byte of one number.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// blanks is where the next byte is that is no blank; the length if there is none.
func blanks(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r') {
		at++
		for at+8 <= len(data) && binary.LittleEndian.Uint64(data[at:]) == ' '*ones {
			at += 8
		}
	}
	return at
}

// pastValue is where the value that begins at a place ends; -1 when it does not.
func pastValue(data []byte, at int) int {
	if at >= len(data) {
		return -1
	}
	switch data[at] {
	case '"':
		return pastString(data, at)
	case '{', '[':
		return pastBrackets(data, at)
	}
	end := at
	for end < len(data) && !delimits(data[end]) {
		end++
	}
	if end == at {
		return -1
	}
	return end
}

// delimits says whether a byte ends a number or a word.
func delimits(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}

// pastString is where the string ends whose opening quote is at a place.
func pastString(data []byte, at int) int {
	for at = plain(data, at+1); at < len(data); at = plain(data, at) {
		switch data[at] {
		case '"':
			return at + 1
		case '\\':
			at += 2
		default:
			at++
		}
	}
	return -1
}

// plain is where, from a place on, the next byte is that does not stand for
// itself in a string, or is not ASCII; the length, or more, if there is none.
func plain(data []byte, at int) int {
	for ; at+8 <= len(data); at += 8 {
		w := binary.LittleEndian.Uint64(data[at:])
		// The lowest byte found is one; those above it need not be.
		odd := (below(w^'"'*ones, 1) | below(w^'\\'*ones, 1) | below(w, ' ') | w) & highs
		if odd != 0 {
			return at + bits.TrailingZeros64(odd)/8
		}
	}
	for at < len(data) && data[at] >= ' ' && data[at] < 0x80 && data[at] != '"' && data[at] != '\\' {
		at++
	}
	return at
}

// below marks with its highest bit the lowest of eight ASCII bytes that is less
// than n, and perhaps others above it.
func below(w, n uint64) uint64 { return (w - n*ones) &^ w & highs }

// pastBrackets counts brackets of both kinds alike: which closes which is the
// decoder's to check.
func pastBrackets(data []byte, at int) int {
	for depth := 0; at < len(data); {
		switch data[at] {
		case '"':
			if at = pastString(data, at); at < 0 {
				return -1
			}
			continue
		case '\n':
			at = blanks(data, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
		at++
	}
	return -1
}
