package detect

import (
	_ "embed"
	"strings"
	"sync"
)

const (
	minPhone = 7  // digits of a number that a word announces as a phone number
	maxPhone = 15 // E.164
)

//go:embed countries.txt
var countriesText string

// numberLengths are the possible lengths of a country's national numbers.
type numberLengths struct {
	min, max int
	zero     bool // whether the first digit may be a zero
}

// countries are these lengths by country code.
var countries = sync.OnceValue(func() *[1000]numberLengths {
	var t [1000]numberLengths
	for line := range strings.Lines(countriesText) {
		if line[0] == '#' {
			continue
		}
		for entry := range strings.FieldsSeq(line) {
			code, rest, _ := strings.Cut(entry, ":")
			lengths, _, zero := strings.Cut(rest, ":")
			shortest, longest, ranged := strings.Cut(lengths, "-")
			if !ranged {
				longest = shortest
			}
			t[atoi(code)] = numberLengths{atoi(shortest), atoi(longest), zero}
		}
	}
	return &t
})

// inPlan reports whether digits are a complete number of the country whose code they begin with.
func inPlan(digits []byte) bool {
	if len(digits) < minPhone || digits[0] == '0' {
		return false
	}
	if digits[0] == '1' {
		return len(digits) == 11 && northAmerican(string(digits[1:4]), string(digits[4:7]))
	}
	for n := 1; n <= 3; n++ {
		if l := countries()[atoi(string(digits[:n]))]; l.max > 0 {
			rest := len(digits) - n
			return rest >= l.min && rest <= l.max && (l.zero || digits[n] != '0')
		}
	}
	return false
}

// northAmerican reports whether an area code and the three digits after it are valid: neither begins with 0 or 1 nor is a service such as
// 911. Area 555 is accepted, because people use it in invented numbers.
func northAmerican(area, exchange string) bool {
	if area == "555" {
		return true
	}
	return area[0] >= '2' && exchange[0] >= '2' && area[1:] != "11" && exchange[1:] != "11" && area[1] != '9'
}

// phone returns the end of the number that begins with the '+' or '(' at i.
func (f *finder) phone(i int) (end int) {
	s := f.s
	if s[i] == '(' {
		if end = areaInParentheses(s, i); end == 0 && f.hintAt(i) == Phone {
			end = announcedPhone(s, i)
		}
	} else {
		end = international(s, i+1)
	}
	if end == 0 || strings.Count(s[i:end], ".") == 1 && isDecimal(s[i:end]) {
		return 0
	}
	return extension(s, end)
}

// international returns the end of the number whose country code begins at i. It may have one or two separators between digits, and a trunk
// zero in parentheses.
func international(s string, i int) (end int) {
	var buf [maxPhone]byte
	digits, separators := buf[:0], 0
	for at := i; at < len(s) && len(digits) < len(buf); {
		if isDigit(s[at]) {
			digits, separators = append(digits, s[at]), 0
			at++
			if mayEnd(s, at) && inPlan(digits) {
				end = at
			}
			continue
		}
		if strings.HasPrefix(s[at:], "(0)") {
			at += len("(0)")
			continue
		}
		n := looseSeparator(s, at)
		if separators++; n == 0 || separators > 2 {
			return end
		}
		at += n
	}
	return end
}

// looseSeparator returns the length of the phone number separator at i, or 0 if there is none.
func looseSeparator(s string, i int) int {
	if i < len(s) && strings.IndexByte("/()", s[i]) >= 0 {
		return 1
	}
	_, n := separatorAt(s, i)
	return n
}

// areaInParentheses returns the end of a number with its area code in parentheses at i: (02) 9374 4000, (212) 555-0123,
// (11) 96123-4567, (912) 345-67-89.
func areaInParentheses(s string, i int) (end int) {
	at := i + 1
	for at < len(s) && isDigit(s[at]) && at-i <= 5 {
		at++
	}
	area := s[i+1 : at]
	if len(area) < 2 || at+2 >= len(s) || s[at] != ')' || i > 0 && (s[i-1] == ')' || s[i-1] == '(') {
		return 0
	}
	at++
	if separator, n := separatorAt(s, at); separator == ' ' {
		at += n
	}
	if at >= len(s) || !isDigit(s[at]) {
		return 0
	}
	var buf [4]group
	groups := splitGroups(s, at, buf[:0])
	switch {
	case len(groups) == 0:
		return 0
	case area[0] == '0':
		return behindTrunkCode(s, area, groups)
	case len(area) == 3 && formed(s, groups, 3, 4) && northAmerican(area, s[groups[0].start:groups[0].end]):
		return groups[1].end
	case len(groups) < 2 || groups[1].separator != '-' || isYear(s, groups[0]) && isYear(s, groups[1]):
		return 0
	case len(area) == 2 && (formed(s, groups, 5, 4) || formed(s, groups, 4, 4)): // Brazil
		return groups[1].end
	case len(area) == 3 && formed(s, groups, 3, 2, 2): // Russia
		return groups[2].end
	}
	return 0
}

// behindTrunkCode returns the end of the groups after an area code with its trunk zero, if there are 9 to 11 digits in all.
func behindTrunkCode(s, area string, groups []group) (end int) {
	if area[1] == '0' {
		return 0
	}
	digits := len(area)
	for n, g := range groups[:min(3, len(groups))] {
		if digits += g.width(); g.width() < 3-min(1, n) {
			break
		}
		if digits >= 9 && digits <= 11 && mayEnd(s, g.end) {
			end = g.end
		}
	}
	return end
}

// nationalPhone returns the end of the phone number without a country code that the groups begin with. It must have a form that only phone
// numbers have, or follow a word such as "call".
func (f *finder) nationalPhone(groups []group) (end int) {
	s, i := f.s, groups[0].start
	at := func(n int) string { return s[groups[n].start:groups[n].end] }
	switch {
	case behindTrunkDigit(s, i) > 0:
		end = behindTrunkDigit(s, i)
	case formed(s, groups, 3, 3, 4) && northAmerican(at(0), at(1)):
		end = groups[2].end
	case formed(s, groups, 1, 3, 3, 4) && at(0) == "1" && northAmerican(at(1), at(2)):
		end = groups[3].end
	default:
		end = f.hintedPhone(groups)
	}
	if end == 0 {
		return 0
	}
	return extension(s, end)
}

// hintedPhone is nationalPhone for forms that other numbers have too. To find hints takes long, so it comes last.
func (f *finder) hintedPhone(groups []group) (end int) {
	s, i := f.s, groups[0].start
	trunk, announced := trunkZero(s, groups), announcedPhone(s, i)
	first := groups[0]
	ten := formed(s, groups, 10) && northAmerican(s[first.start:first.start+3], s[first.start+3:first.start+6])
	if trunk == 0 && announced == 0 && !ten {
		return 0
	}
	switch hint := f.hintAt(i); {
	case hint == Phone && ten:
		return first.end
	case hint == thing:
		return 0
	case trunk == 0 && hint == Phone:
		return announced
	}
	return trunk
}

// behindTrunkDigit returns the end of the number whose single digit at i, a long-distance prefix, precedes an area code in parentheses: 1
// (212) 555-0123, 8 (912) 345-67-89.
func behindTrunkDigit(s string, i int) (end int) {
	at := i + 1
	if s[i] != '1' && s[i] != '8' || at+1 >= len(s) {
		return 0
	}
	if s[at] == ' ' || s[at] == '-' {
		at++
	}
	if s[at] != '(' {
		return 0
	}
	return areaInParentheses(s, at)
}

// trunkForm is a national form of numbers with a trunk zero: the separator, and the widths of the groups.
type trunkForm struct {
	separator byte
	widths    []int
}

var trunkForms = []trunkForm{
	{' ', []int{2, 2, 2, 2, 2}}, {'.', []int{2, 2, 2, 2, 2}}, {'-', []int{2, 2, 2, 2, 2}}, // France
	{' ', []int{1, 3, 3, 3}}, // services in France
	{' ', []int{3, 3, 2, 2}}, // Switzerland
	{' ', []int{4, 3, 2, 2}}, // Turkey
	{' ', []int{4, 2, 2, 2}}, // Belgium
	{' ', []int{2, 4, 4}},    // Australia
	{'-', []int{2, 4, 4}},    // Japan
	{'-', []int{2, 8}},       // Netherlands
}

// trunkZero returns the end of the number that begins with a trunk zero, or with 00 and a country code.
func trunkZero(s string, groups []group) (end int) {
	first := s[groups[0].start:groups[0].end]
	if first[0] != '0' || continues(s, groups[0].start) {
		return 0
	}
	if len(groups) > 1 && len(first) >= 3 && len(first) <= 6 && first[:2] == "00" && first[2] != '0' {
		return international(s, groups[0].start+2)
	}
	if len(first) > 1 && first[1] == '0' || len(first) == 1 && len(groups) > 1 && s[groups[1].start] != '8' {
		return 0
	}
	if end = areaCode(s, groups); end > 0 {
		return end
	}
	for _, form := range trunkForms {
		last := len(form.widths) - 1
		if len(groups) <= last || groups[1].separator != form.separator || !formed(s, groups, form.widths...) {
			continue
		}
		if isYear(s, groups[1]) && isYear(s, groups[last]) || inHexDump(s, groups[0].start, groups[last].end) {
			return 0
		}
		return groups[last].end
	}
	return 0
}

// areaCode returns the end of a number of ten or eleven digits with an area code of three to five digits, such as 020 7946 0958 and 07700
// 900123, or with one separator after the area code and another in the rest: 030/1234567, 0701-23 45 67.
func areaCode(s string, groups []group) (end int) {
	first := groups[0]
	if first.width() < 2 || first.width() > 5 || first.start > 0 && strings.IndexByte("/=_-.", s[first.start-1]) >= 0 && (len(groups) == 1 || s[first.end] == '/') {
		return 0
	}
	if len(groups) == 1 {
		return slashed(s, first)
	}
	digits, pairs := first.width(), groups[1].separator == '-' && len(groups) > 2 && groups[2].separator == ' ' && first.width() < 5
	for n, g := range groups[1:min(5, len(groups))] {
		digits += g.width()
		switch {
		case pairs && (g.width() < 2 || g.width() > 3 || n > 0 && g.separator != ' '):
			return end
		case pairs:
			if n > 0 && digits >= 9 && digits <= 10 && mayEnd(s, g.end) {
				end = g.end
			}
		case first.width() == 2 || n == 3 || g.width() < 3 || g.separator == '.' || g.separator != groups[1].separator:
			return end
		case (digits == 10 || digits == 11) && mayEnd(s, g.end):
			end = g.end
		}
	}
	return end
}

// slashed returns the end of the number whose area code is followed by a slash.
func slashed(s string, area group) (end int) {
	if area.width() < 3 || area.end >= len(s) || s[area.end] != '/' {
		return 0
	}
	for end = area.end + 1; end < len(s) && isDigit(s[end]); end++ {
	}
	if n := end - area.end - 1; n < 6 || n > 8 || n+area.width() > 12 || !mayEnd(s, end) {
		return 0
	}
	return end
}

// continues reports whether the digits at i are a later group of a longer number.
func continues(s string, i int) bool { return i > 1 && s[i-1] == ' ' && isDigit(s[i-2]) }

// inHexDump reports whether there are more pairs of hexadecimal digits beside those from start to end.
func inHexDump(s string, start, end int) bool {
	pair := func(i int) bool { return i >= 0 && i+1 < len(s) && isHex(s[i]) && isHex(s[i+1]) }
	beside := 0
	for at := end; at < len(s) && s[at] == ' ' && pair(at+1) && !wordAfter(s, at+3) && beside < 2; at += 3 {
		beside++
	}
	for at := start - 1; at >= 0 && s[at] == ' ' && pair(at-2) && !wordBefore(s, at-2) && beside < 2; at -= 3 {
		beside++
	}
	return beside > 1
}

// announcedPhone returns the end of the number that begins with the digit or parenthesis at i, where a name or a word announces a phone
// number: 7 to 15 digits in groups of any form. Ten digits are complete unless they continue without a space.
func announcedPhone(s string, i int) (end int) {
	digits, first := 0, i
	for at := i; digits < maxPhone; {
		separators := 0
		for separators <= 3 {
			n := looseSeparator(s, at)
			if n == 0 {
				break
			}
			at += n
			separators++
		}
		start := at
		for ; at < len(s) && isDigit(s[at]); at++ {
		}
		width := at - start
		if width == 0 || separators > 3 || digits+width > maxPhone {
			break
		}
		if digits == 0 {
			first = start
		} else if end > 0 && (at < len(s) && s[at] == ':' || (digits >= 10 || start-first >= minPhone && separators == 1 && digits == start-first-1) && s[end] == ' ') {
			break // a time; or the number was complete
		}
		if digits += width; digits >= minPhone && mayEnd(s, at) {
			end = at
		}
		if isDate(s[first:at]) {
			return 0
		}
	}
	if end > 0 && isDecimal(s[i:end]) {
		return 0
	}
	return end
}

// isDecimal reports whether a text is a number with a fraction, or an IP address padded with zeros: 1.000000, 127.000.000.001.
func isDecimal(s string) bool {
	if strings.Trim(s, "+.0123456789") != "" {
		return false
	}
	switch at := strings.LastIndexByte(s, '.'); strings.Count(s, ".") {
	case 1:
		return at < 3 || len(s)-at < 5
	case 3:
		return len(s) <= len("127.000.000.001") && at > 4
	}
	return false
}

// isDate reports whether a text is a date: 2024-01-15, 15.01.2024, 01/15/2024.
func isDate(s string) bool {
	if len(s) != 10 {
		return false
	}
	year, a, b := s[:4], s[4], s[7]
	if isDigit(a) {
		year, a, b = s[6:], s[2], s[5]
	}
	return (year[:2] == "19" || year[:2] == "20") && a == b && strings.IndexByte("-./", a) >= 0 && isDigit(year[2]) && isDigit(year[3])
}

// extension returns the end of the extension that follows a phone number, such as "ext. 22", "x204" and ",,1234#", or end itself.
func extension(s string, end int) int {
	if strings.HasPrefix(s[end:], ",,") {
		at := end + 2
		for at < len(s) && isDigit(s[at]) && at-end < 12 {
			at++
		}
		if at > end+2 && at < len(s) && s[at] == '#' {
			return at + 1
		}
	}
	at := end
	for at < len(s) && at-end < 2 && strings.IndexByte(" ,;", s[at]) >= 0 {
		at++
	}
	for _, name := range []string{"extension", "ext", "ex", "x", "durchwahl", "dw", "poste"} {
		if len(s)-at <= len(name) || !strings.EqualFold(s[at:at+len(name)], name) {
			continue
		}
		first := at + len(name)
		for n := 0; n < 2 && first < len(s) && strings.IndexByte(".: =", s[first]) >= 0; n++ {
			first++
		}
		last := first
		for last < len(s) && isDigit(s[last]) {
			last++
		}
		if last > first && last-first <= 6 && !wordAfter(s, last) {
			return last
		}
	}
	return end
}
