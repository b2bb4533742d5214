package pii

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// shown returns the names and companies in objects as console.log and Python's print show them: { company: 'Apple' }, {'company': 'Apple'}.
// There the name of a member counts as in JSON, but only if it says by itself what the value is, since a stream has no siblings of it.
func (f *fields) shown(text string) []detect.Match {
	var out []detect.Match
	for at := 0; ; {
		i := strings.Index(text[at:], ": ")
		if i < 0 {
			return out
		}
		name, start := nameBefore(text, at+i), at+i+3
		at = start - 1
		if name == "" || start >= len(text) || text[at] != '\'' && text[at] != '"' {
			continue
		}
		end := quoteEnd(text, start, text[at])
		if end < 0 {
			continue
		}
		value := text[start:end]
		switch h := f.hint(name, 0); {
		case h.set && h.typ != "" && strings.TrimSpace(value) != "":
			out = append(out, detect.Match{Start: start, End: end, Type: h.typ})
		case !h.set && (h.typ == detect.Name || h.typ == detect.Company):
			for _, m := range detect.Find(value, h.typ) {
				out = append(out, detect.Match{Start: start + m.Start, End: start + m.End, Type: m.Type})
			}
		}
		at = end
	}
}

// nameBefore returns the name of a member that ends at i, without its quotes, or "".
func nameBefore(text string, i int) string {
	if i > 0 && (text[i-1] == '\'' || text[i-1] == '"') {
		i--
	}
	start := i
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		start -= size
	}
	return text[start:i]
}

// quoteEnd returns the end of the text in quotes that begins at i, or -1 if it does not end in its line.
func quoteEnd(text string, i int, quote byte) int {
	for ; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case quote:
			return i
		case '\\':
			i++
		}
	}
	return -1
}
