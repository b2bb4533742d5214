package detect

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/internet"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/key"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/number"
)

// number returns the match whose digits begin at i, the beginning of a word.
func (f *finder) number(i int) Match {
	s := f.s
	if i == 0 || s[i-1] != '.' || !char.WordBefore(s, i-1) { // not within 1.2.3.4.5
		if end := internet.IPv4(s, i); end > 0 {
			if f.isVersion(i, end) {
				return Match{}
			}
			return Match{internet.MappedStart(s, f.from, i), end, IP}
		}
	}
	if !number.MayBegin(s, i) && (s[i-1] != '#' || !isPerson(f.hintAt(i))) {
		return Match{}
	}
	if end := key.Telegram(s, i); end > 0 {
		return Match{i, end, Key}
	}
	var buf [number.MaxGroups]number.Group
	groups := number.Split(s, i, buf[:0])
	if len(groups) == 0 {
		return Match{}
	}
	if end := f.card(groups); end > 0 {
		return Match{i, end, Card}
	}
	if end := f.ssn(groups); end > 0 {
		return Match{i, end, SSN}
	}
	if end := f.nationalPhone(groups); end > 0 {
		return Match{i, end, Phone}
	}
	return Match{}
}

func isPerson(hint Type) bool { return hint == Phone || hint == SSN }

// ssn returns the end of the social security number that the groups begin with. It must be in an issued range. Without hyphens or spaces, a
// word must announce it.
func (f *finder) ssn(groups []number.Group) (end int) {
	s, i := f.s, groups[0].Start
	n := 0
	switch {
	case number.Formed(s, groups, 3, 2, 4) && groups[1].Separator != '.':
		n = 3
	case number.Formed(s, groups, 9):
		n = 1
	default:
		return 0
	}
	digits := number.DigitsOf(s, groups[:n])
	area := digits[:3]
	if area == "000" || area == "666" || area[0] == '9' || digits[3:5] == "00" || digits[5:] == "0000" {
		return 0
	}
	if digits == "078051120" || digits == "219099999" { // printed on samples, and void since then
		return 0
	}
	switch hint := f.hintAt(i); {
	case hint == Phone || hint == thing:
		return 0
	case n == 1 && hint != SSN && (hint != "" || !f.mentionsSSN(i)):
		return 0
	}
	return groups[n-1].End
}

func (f *finder) mentionsSSN(i int) bool {
	before := f.wordsBefore(i).text
	return strings.Contains(before, "ssn") || strings.Contains(before, "social security")
}
