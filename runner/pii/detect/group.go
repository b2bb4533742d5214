package detect

import (
	"strings"
	"unicode/utf8"
)

const (
	maxGroups = 8
	maxDigits = 19
)

// group is a run of digits within a number, and the separator before it.
type group struct {
	start, end int
	separator  byte // ' ', '-' or '.', also for their typographic forms; 0 for the first group
}

func (g group) width() int { return g.end - g.start }

// splitGroups returns groups of digits that have one separator between them.
func splitGroups(s string, i int, groups []group) []group {
	digits, separator := 0, byte(0)
	for len(groups) < cap(groups) {
		end := i
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		if digits += end - i; digits > maxDigits {
			return groups
		}
		groups = append(groups, group{i, end, separator})
		var n int
		separator, n = separatorAt(s, end)
		if n == 0 || end+n >= len(s) || !isDigit(s[end+n]) {
			return groups
		}
		i = end + n
	}
	return groups
}

// separatorAt returns the separator of digits at i and its length in bytes. Spaces that do not break and typographic hyphens
// are returned as ' ' and '-'.
func separatorAt(s string, i int) (separator byte, n int) {
	if i >= len(s) {
		return 0, 0
	}
	switch c := s[i]; {
	case c == ' ' || c == '-' || c == '.':
		return c, 1
	case c < utf8.RuneSelf:
		return 0, 0
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == '\u00a0' || r == '\u202f' || r >= '\u2007' && r <= '\u2009':
		return ' ', n
	case r >= '\u2010' && r <= '\u2013':
		return '-', n
	}
	return 0, 0
}

// formed reports whether groups begin with these widths, have the same separator between them, and may end there.
func formed(s string, groups []group, widths ...int) bool {
	if len(groups) < len(widths) {
		return false
	}
	for n, width := range widths {
		if groups[n].width() != width || n > 1 && groups[n].separator != groups[1].separator {
			return false
		}
	}
	return mayEnd(s, groups[len(widths)-1].end)
}

// digitsOf returns the digits of groups without their separators.
func digitsOf(s string, groups []group) string {
	if len(groups) == 1 {
		return s[groups[0].start:groups[0].end]
	}
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(s[g.start:g.end])
	}
	return b.String()
}

func countDigits(groups []group) (n int) {
	for _, g := range groups {
		n += g.width()
	}
	return n
}

func isYear(s string, g group) bool {
	return g.width() == 4 && (s[g.start:g.start+2] == "19" || s[g.start:g.start+2] == "20")
}

// mayBegin rejects the middle of decimals, dates, versions and identifiers with hyphens.
func mayBegin(s string, i int) bool {
	if i == 0 {
		return true
	}
	switch s[i-1] {
	case '-':
		return i > 1 && s[i-2] != ' ' && s[i-2] != '$' && !wordBefore(s, i-1)
	case '.', '/', ':':
		return i < 2 || !isDigit(s[i-2])
	case '$', '@', '#', '%', '\\', '+':
		return false
	}
	return true
}

// mayEnd rejects the same at the end of a number. It accepts, for example, a full stop after the number.
func mayEnd(s string, end int) bool {
	if end >= len(s) {
		return true
	}
	c := s[end]
	if c == '@' || c == '%' || wordAfter(s, end) && (c|0x20 != 'x' && c|0x20 != 'e' || extension(s, end) == end) {
		return false
	}
	if (c == '-' || c == '.') && end+1 < len(s) {
		return !isDigit(s[end+1]) && (c != '-' || !isAlnum(s[end+1]))
	}
	return true
}
