// Package number reads groups of digits: phone numbers, account numbers and numbers of payment cards.
package number

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
)

const (
	MaxGroups = 8
	maxDigits = 19
)

// group is a run of digits within a number, and the separator before it.
type Group struct {
	Start, End int
	Separator  byte // ' ', '-' or '.', also for their typographic forms; 0 for the first group
}

func (g Group) Width() int { return g.End - g.Start }

// Split returns groups of digits that have one separator between them.
func Split(s string, i int, groups []Group) []Group {
	digits, separator := 0, byte(0)
	for len(groups) < cap(groups) {
		end := i
		for end < len(s) && char.IsDigit(s[end]) {
			end++
		}
		if digits += end - i; digits > maxDigits {
			return groups
		}
		groups = append(groups, Group{i, end, separator})
		var n int
		separator, n = separatorAt(s, end)
		if n == 0 || end+n >= len(s) || !char.IsDigit(s[end+n]) {
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

// Formed reports whether groups begin with these widths, have the same separator between them, and may end there.
func Formed(s string, groups []Group, widths ...int) bool {
	if len(groups) < len(widths) {
		return false
	}
	for n, width := range widths {
		if groups[n].Width() != width || n > 1 && groups[n].Separator != groups[1].Separator {
			return false
		}
	}
	return MayEnd(s, groups[len(widths)-1].End)
}

// DigitsOf returns the digits of groups without their separators.
func DigitsOf(s string, groups []Group) string {
	if len(groups) == 1 {
		return s[groups[0].Start:groups[0].End]
	}
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(s[g.Start:g.End])
	}
	return b.String()
}

func CountDigits(groups []Group) (n int) {
	for _, g := range groups {
		n += g.Width()
	}
	return n
}

func isYear(s string, g Group) bool {
	return g.Width() == 4 && (s[g.Start:g.Start+2] == "19" || s[g.Start:g.Start+2] == "20")
}

// MayBegin rejects the middle of decimals, dates, versions and identifiers with hyphens.
func MayBegin(s string, i int) bool {
	if i == 0 {
		return true
	}
	switch s[i-1] {
	case '-':
		return i > 1 && s[i-2] != ' ' && s[i-2] != '$' && !char.WordBefore(s, i-1)
	case '.', '/', ':':
		return i < 2 || !char.IsDigit(s[i-2])
	case '$', '@', '#', '%', '\\', '+':
		return false
	}
	return true
}

// MayEnd rejects the same at the end of a number. It accepts, for example, a full stop after the number.
func MayEnd(s string, end int) bool {
	if end >= len(s) {
		return true
	}
	c := s[end]
	if c == '@' || c == '%' || char.WordAfter(s, end) && (c|0x20 != 'x' && c|0x20 != 'e' || Extension(s, end) == end) {
		return false
	}
	if (c == '-' || c == '.') && end+1 < len(s) {
		return !char.IsDigit(s[end+1]) && (c != '-' || !char.IsAlnum(s[end+1]))
	}
	return true
}
