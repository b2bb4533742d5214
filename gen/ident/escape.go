package ident

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// emojiStyle is the variation selector that makes a symbol an emoji, as in ⚠️.
const emojiStyle = '\uFE0F'

// Shows reports whether r may be printed to a terminal unchanged: it is [Visible], makes an emoji of the character before it, or stands for
// bytes that are not UTF-8.
func Shows(r rune) bool { return Visible(r) || r == emojiStyle || r == utf8.RuneError }

// Escape writes each character of a text as in a Go string literal, unless it [Shows] or is in keep. Bytes that are not UTF-8 become \xNN.
// No text can then move the cursor, set a title, or reverse the direction of what follows it.
func Escape(text, keep string) string {
	shows := func(r rune) bool { return Shows(r) || strings.ContainsRune(keep, r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !shows(r) }) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case shows(r):
			b.WriteRune(r)
		default:
			b.WriteString(escapeRune(r))
		}
	}
	return b.String()
}

func escapeRune(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// EscapeJSON writes the hidden characters of a JSON text, which only strings can hold, as \uXXXX. The function hidden gets each character
// and the one before it.
func EscapeJSON(text []byte, hidden func(before, r rune) bool) []byte {
	var out []byte // nil while there is nothing to escape
	var before rune
	done := 0
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		if hidden(before, r) {
			out = append(out, text[done:i]...)
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			done = i + size
		}
		before = r
		i += size
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}
