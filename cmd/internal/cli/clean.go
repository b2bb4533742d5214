package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// emojiStyle is the variation selector that makes a symbol an emoji, as in ⚠️.
const emojiStyle = '\uFE0F'

// shown reports whether r may be printed to a terminal unchanged.
func shown(r rune) bool { return ident.Visible(r) || r == emojiStyle || r == utf8.RuneError }

// Escape makes foreign text safe to print: everything but visible characters, spaces, tabs and newlines is shown as
// an escape, so that no text can move the cursor, set a title, or reverse the direction of what follows it.
func Escape(s string) string { return escape(s, "\t\n") }

// EscapeLine is Escape for text that must stay on one line: newlines and tabs are escaped too.
func EscapeLine(s string) string { return escape(s, "") }

func escape(s, keep string) string {
	if printable(s, keep) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case shown(r) || strings.ContainsRune(keep, r):
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

func printable(s, keep string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !shown(r) && !strings.ContainsRune(keep, r) {
			return false
		}
	}
	return true
}

// Shorten cuts s to at most max characters, the last being an ellipsis when something was cut.
func Shorten(s string, max int) string {
	count := 0
	for i := range s {
		if count == max-1 && utf8.RuneCountInString(s[i:]) > 1 {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
