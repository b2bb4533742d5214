package detect

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/number"
)

// card returns the end of the payment card number that the groups begin with. The number must pass Luhn's check. Unless a word such as
// "card" announces it, it must also have an issuer's prefix and length, and be grouped as cards are.
func (f *finder) card(groups []number.Group) (end int) {
	if number.CountDigits(groups) < 12 {
		return 0
	}
	if end = f.plainCard(groups); end > 0 {
		return end
	}
	return f.announcedCard(groups)
}

// plainCard returns the end of a card number that no word announces.
func (f *finder) plainCard(groups []number.Group) (end int) {
	s := f.s
	n := 0
	switch {
	case number.Formed(s, groups, 4, 4, 4, 4, 3):
		n = 5
	case number.Formed(s, groups, 4, 4, 4, 4):
		n = 4
	case number.Formed(s, groups, 4, 6, 5), number.Formed(s, groups, 4, 6, 4):
		n = 3
	case groups[0].Width() >= 13 && number.MayEnd(s, groups[0].End):
		n = 1
	default:
		return 0
	}
	digits := number.DigitsOf(s, groups[:n])
	if !number.HasLuhnDigit(digits) || !number.IsIssued(digits, n > 1) || n == 1 && f.isIdentifier(groups[0].Start) {
		return 0
	}
	return groups[n-1].End
}

// announcedCard returns the end of the longest number of 12 to 19 digits that passes Luhn's check, if a word announces a card.
func (f *finder) announcedCard(groups []number.Group) (end int) {
	for n := len(groups); n > 0; n-- {
		digits := number.DigitsOf(f.s, groups[:n])
		if len(digits) < 12 {
			return 0
		}
		if number.HasLuhnDigit(digits) && digits[0] != '0' && number.MayEnd(f.s, groups[n-1].End) {
			if f.hintAt(groups[0].Start) == Card {
				return groups[n-1].End
			}
			return 0
		}
	}
	return 0
}

// isIdentifier reports whether a name, a word or a path shows that the digits at i are not a card.
func (f *finder) isIdentifier(i int) bool {
	if hint := f.hintAt(i); hint == record || hint == thing {
		return true
	}
	if i < 2 || f.s[i-1] != '/' || !char.IsAlnum(f.s[i-2]) {
		return false
	}
	before := f.wordsBefore(i)
	return !strings.Contains(before.next(), "card")
}
