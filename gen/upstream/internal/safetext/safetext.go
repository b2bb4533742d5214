// Package safetext makes text from servers safe to show in errors, logs and terminals. It knows nothing of secrets:
// see the package redact.
package safetext

import (
	"strings"
	"unicode/utf8"
)

// Printable removes control characters, and terminal escapes with them, and cuts the text to limit bytes.
func Printable(s string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029:
			return -1
		}
		return r
	}, s)
	return Cut(clean, limit)
}

// Cut shortens s to at most limit bytes of whole characters and appends "…" if it did.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
