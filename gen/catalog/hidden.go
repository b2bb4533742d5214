package catalog

import (
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Joins reports whether an invisible character does its ordinary work after the character before it: a variation
// selector chooses how a symbol looks, a joiner joins emoji, or letters of scripts that need it.
func Joins(before, r rune) bool {
	symbol := before >= 0x2190 && !unicode.IsLetter(before) && !unicode.In(before, unicode.Co, unicode.Mn) && !ident.Invisible(before)
	switch r {
	case 0xFE0E, 0xFE0F:
		return symbol || before == '#' || before == '*' || before >= '0' && before <= '9' || before == '©' || before == '®'
	case 0x200C, 0x200D:
		return symbol || before == 0xFE0F || unicode.In(before, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Malayalam, unicode.Sinhala)
	}
	return false
}

// hidden reports whether a reader of a file would not see a character, or not see what it does.
func hidden(before, r rune) bool {
	return r >= 0x7F && (r < 0xA0 || ident.Invisible(r) && !Joins(before, r) || unicode.Is(unicode.Co, r))
}

// escapeHidden writes the hidden characters of a JSON text as \uXXXX.
func escapeHidden(text []byte) []byte { return ident.EscapeJSON(text, hidden) }
