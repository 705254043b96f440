package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// clean makes text safe to print on one line: whatever could move the cursor,
// change colours, turn the reading direction or not be seen at all is escaped
// as Go writes it. Names and messages come from anywhere.
func clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case visible(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

func isClean(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool { return !visible(r) }) < 0
}

// visible says whether a rune takes part in the text as one sees it. IsPrint
// leaves out controls and format characters (bidi marks, joiners, zero-width
// spaces), the table other letters that show as nothing.
func visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) &&
		!unicode.Is(unicode.Variation_Selector, r)
}

// wide is the number of columns that text takes.
func wide(text string) int {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return uniseg.StringWidth(text)
		}
	}
	return len(text) // nearly all text, and much faster
}

// wrap breaks text into lines of at most width columns, between words where
// that can be, inside them where it must. The end of an equation stays with its
// last term, as far as that fits into a line.
func wrap(text string, width int) []string {
	width = max(width, 10)
	if wide(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range joined(strings.Fields(text), width) {
		for wide(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := cut(word, width)
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case wide(line)+1+wide(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// longestTerm is how many words the last term of an equation has at most, its
// sign counted: - 3 in this set.
const longestTerm = 5

// joined makes one word of the last term of an equation and its result, as in
// "- 10 pods = 3"; of less where that is too long for a line.
func joined(words []string, width int) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		out = append(out, words[i])
		if words[i] != "=" || i == 0 || i+1 == len(words) {
			continue
		}
		term, result := out[:len(out)-1], words[i+1:i+2]
		if strings.HasSuffix(words[i+1], ",") && i+3 < len(words) && words[i+2] == "so" {
			result = words[i+1 : i+4] // = 5, so 3
		}
		for _, from := range []int{lastTerm(term), len(term) - 1} {
			whole := strings.Join(slices.Concat(out[from:], result), " ")
			if wide(whole) <= width {
				out, i = append(out[:from], whole), i+len(result)
				break
			}
		}
	}
	return out
}

// lastTerm is where the last term of words begins: at its sign, or else at the last word.
func lastTerm(words []string) int {
	for i := len(words) - 1; i >= max(0, len(words)-longestTerm); i-- {
		if words[i] == "+" || words[i] == "-" {
			return i
		}
	}
	return len(words) - 1
}

// cut is the longest beginning of text that fits, at least one character.
func cut(text string, width int) string {
	end := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if i > 0 && wide(text[:next]) > width {
			break
		}
		end = next
	}
	return text[:end]
}

// clock is a time in the table: 0.021s.
func clock(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// brief is a length of time in prose: 2.2s, 0.034s, 600s.
func brief(seconds float64) string {
	precision := 1
	if seconds < 1 {
		precision = 3
	}
	text := strconv.FormatFloat(seconds, 'f', precision, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}

// count is a number of things: 1 pod, 3 pods.
func count(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
