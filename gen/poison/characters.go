package poison

import (
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// characters reports control characters and invisible characters in the original text.
func (s *scan) characters(place, text string) {
	if i := strings.IndexByte(text, 0x1b); i >= 0 {
		s.add(place, control, around(text, i))
	} else if i := strings.IndexFunc(text, isControl); i >= 0 {
		s.add(place, control, around(text, i))
	}
	if !ascii(text) {
		s.hidden(place, text)
	}
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\f' && r != '\v' || r >= 0x7f && r < 0xa0 && r != 0x85
}

// around returns the part of text around the byte at i.
func around(text string, i int) string {
	return ident.Tail(text[:i], 20) + text[i:min(len(text), i+40)]
}

// hidden reports invisible characters that have no ordinary use in their place.
func (s *scan) hidden(place, text string) {
	rtl := strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana)
	})
	var before rune
	reported := map[string]bool{}
	for i, r := range text {
		if r < 0xAD || !ident.Invisible(r) {
			before = r
			continue
		}
		rule := unseen
		switch {
		case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
			rule = bidi
		case (r == 0x200E || r == 0x200F || r == 0x061C) && rtl:
			rule = ""
		case catalog.Joins(before, r):
			rule = ""
		case r == 0xFEFF && i == 0, r == 0xAD: // byte order mark, soft hyphen
			rule = ""
		case r >= 0xE0020 && r <= 0xE007F && flag(text, i): // flags of England, Scotland and Wales
			rule = ""
		}
		before = r
		if rule != "" && !reported[rule] {
			reported[rule] = true
			s.add(place, rule, around(text, i))
		}
	}
}

// flag reports whether the tag character at i belongs to an emoji flag: a black flag followed by at most six tag
// characters.
func flag(text string, i int) bool {
	const longest = 7 * 4
	from := text[max(0, i-longest):i]
	return strings.Contains(from, "\U0001F3F4")
}
