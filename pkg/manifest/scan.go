package manifest

import "bytes"

// A dump of a large cluster is half a gigabyte of JSON, of which a decoder that
// looks twice at every byte takes minutes. What is needed to take it apart is
// only where values begin and end; whether they are valid is seen as each of
// them is decoded.

// compact appends JSON to dst without the blanks between its parts, which are
// half of what kubectl prints and take a decoder as long as the rest.
func compact(dst, data []byte) []byte {
	for at := 0; at < len(data); at++ {
		switch data[at] {
		case ' ', '\n', '\t', '\r':
		case '"':
			end := pastString(data, at)
			if end < 0 {
				end = len(data)
			}
			dst = append(dst, data[at:end]...)
			at = end - 1
		default:
			dst = append(dst, data[at])
		}
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

// blanks is where the next byte is that is no blank; the length if there is none.
func blanks(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r') {
		at++
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
	for end < len(data) && bytes.IndexByte([]byte(",]} \n\t\r"), data[end]) < 0 {
		end++
	}
	if end == at {
		return -1
	}
	return end
}

func pastString(data []byte, at int) int {
	for at++; at < len(data); at++ {
		switch data[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return -1
}

// pastBrackets counts brackets of both kinds alike: which closes which is the
// decoder's to check.
func pastBrackets(data []byte, at int) int {
	for depth := 0; at < len(data); at++ {
		switch data[at] {
		case '"':
			end := pastString(data, at)
			if end < 0 {
				return -1
			}
			at = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return -1
}
