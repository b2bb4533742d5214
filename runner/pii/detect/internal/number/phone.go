package number

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
)

const (
	MinPhone = 7  // digits of a number that a word announces as a phone number
	MaxPhone = 15 // E.164
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
			t[char.Atoi(code)] = numberLengths{char.Atoi(shortest), char.Atoi(longest), zero}
		}
	}
	return &t
})

// inPlan reports whether digits are a complete number of the country whose code they begin with.
func inPlan(digits []byte) bool {
	if len(digits) < MinPhone || digits[0] == '0' {
		return false
	}
	if digits[0] == '1' {
		return len(digits) == 11 && NorthAmerican(string(digits[1:4]), string(digits[4:7]))
	}
	for n := 1; n <= 3; n++ {
		if l := countries()[char.Atoi(string(digits[:n]))]; l.max > 0 {
			rest := len(digits) - n
			return rest >= l.min && rest <= l.max && (l.zero || digits[n] != '0')
		}
	}
	return false
}

// NorthAmerican reports whether an area code and the three digits after it are valid: neither begins with 0 or 1 nor is a service such as
// 911. Area 555 is accepted, because people use it in invented numbers.
func NorthAmerican(area, exchange string) bool {
	if area == "555" {
		return true
	}
	return area[0] >= '2' && exchange[0] >= '2' && area[1:] != "11" && exchange[1:] != "11" && area[1] != '9'
}

// International returns the end of the number whose country code begins at i. It may have one or two separators between digits, and a trunk
// zero in parentheses.
func International(s string, i int) (end int) {
	var buf [MaxPhone]byte
	digits, separators := buf[:0], 0
	for at := i; at < len(s) && len(digits) < len(buf); {
		if char.IsDigit(s[at]) {
			digits, separators = append(digits, s[at]), 0
			at++
			if MayEnd(s, at) && inPlan(digits) {
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

// looseSeparator returns the length of the phone number separator at i, or 0.
func looseSeparator(s string, i int) int {
	if i < len(s) && strings.IndexByte("/()", s[i]) >= 0 {
		return 1
	}
	_, n := separatorAt(s, i)
	return n
}

// AreaInParentheses returns the end of a number with its area code in parentheses at i: (02) 9374 4000, (212) 555-0123,
// (11) 96123-4567, (912) 345-67-89.
func AreaInParentheses(s string, i int) (end int) {
	at := i + 1
	for at < len(s) && char.IsDigit(s[at]) && at-i <= 5 {
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
	if at >= len(s) || !char.IsDigit(s[at]) {
		return 0
	}
	var buf [4]Group
	groups := Split(s, at, buf[:0])
	switch {
	case len(groups) == 0:
		return 0
	case area[0] == '0':
		return behindTrunkCode(s, area, groups)
	case len(area) == 3 && Formed(s, groups, 3, 4) && NorthAmerican(area, s[groups[0].Start:groups[0].End]):
		return groups[1].End
	case len(groups) < 2 || groups[1].Separator != '-' || isYear(s, groups[0]) && isYear(s, groups[1]):
		return 0
	case len(area) == 2 && (Formed(s, groups, 5, 4) || Formed(s, groups, 4, 4)): // Brazil
		return groups[1].End
	case len(area) == 3 && Formed(s, groups, 3, 2, 2): // Russia
		return groups[2].End
	}
	return 0
}

// behindTrunkCode returns the end of the groups after an area code with its trunk zero, if there are 9 to 11 digits in all.
func behindTrunkCode(s, area string, groups []Group) (end int) {
	if area[1] == '0' {
		return 0
	}
	digits := len(area)
	for n, g := range groups[:min(3, len(groups))] {
		if digits += g.Width(); g.Width() < 3-min(1, n) {
			break
		}
		if digits >= 9 && digits <= 11 && MayEnd(s, g.End) {
			end = g.End
		}
	}
	return end
}

// BehindTrunkDigit returns the end of the number whose single digit at i, a long-distance prefix, precedes an area code in parentheses: 1
// (212) 555-0123, 8 (912) 345-67-89.
func BehindTrunkDigit(s string, i int) (end int) {
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
	return AreaInParentheses(s, at)
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

// TrunkZero returns the end of the number that begins with a trunk zero, or with 00 and a country code.
func TrunkZero(s string, groups []Group) (end int) {
	first := s[groups[0].Start:groups[0].End]
	if first[0] != '0' || continues(s, groups[0].Start) {
		return 0
	}
	if len(groups) > 1 && len(first) >= 3 && len(first) <= 6 && first[:2] == "00" && first[2] != '0' {
		return International(s, groups[0].Start+2)
	}
	if len(first) > 1 && first[1] == '0' || len(first) == 1 && len(groups) > 1 && s[groups[1].Start] != '8' {
		return 0
	}
	if end = areaCode(s, groups); end > 0 {
		return end
	}
	for _, form := range trunkForms {
		last := len(form.widths) - 1
		if len(groups) <= last || groups[1].Separator != form.separator || !Formed(s, groups, form.widths...) {
			continue
		}
		if isYear(s, groups[1]) && isYear(s, groups[last]) || inHexDump(s, groups[0].Start, groups[last].End) {
			return 0
		}
		return groups[last].End
	}
	return 0
}

// areaCode returns the end of a number of ten or eleven digits with an area code of three to five digits, such as 020 7946 0958 and 07700
// 900123, or with one separator after the area code and another in the rest: 030/1234567, 0701-23 45 67.
func areaCode(s string, groups []Group) (end int) {
	first := groups[0]
	if first.Width() < 2 || first.Width() > 5 || first.Start > 0 && strings.IndexByte("/=_-.", s[first.Start-1]) >= 0 && (len(groups) == 1 || s[first.End] == '/') {
		return 0
	}
	if len(groups) == 1 {
		return slashed(s, first)
	}
	digits, pairs := first.Width(), groups[1].Separator == '-' && len(groups) > 2 && groups[2].Separator == ' ' && first.Width() < 5
	for n, g := range groups[1:min(5, len(groups))] {
		digits += g.Width()
		switch {
		case pairs && (g.Width() < 2 || g.Width() > 3 || n > 0 && g.Separator != ' '):
			return end
		case pairs:
			if n > 0 && digits >= 9 && digits <= 10 && MayEnd(s, g.End) {
				end = g.End
			}
		case first.Width() == 2 || n == 3 || g.Width() < 3 || g.Separator == '.' || g.Separator != groups[1].Separator:
			return end
		case (digits == 10 || digits == 11) && MayEnd(s, g.End):
			end = g.End
		}
	}
	return end
}

// slashed returns the end of the number whose area code is followed by a slash.
func slashed(s string, area Group) (end int) {
	if area.Width() < 3 || area.End >= len(s) || s[area.End] != '/' {
		return 0
	}
	for end = area.End + 1; end < len(s) && char.IsDigit(s[end]); end++ {
	}
	if n := end - area.End - 1; n < 6 || n > 8 || n+area.Width() > 12 || !MayEnd(s, end) {
		return 0
	}
	return end
}

// continues reports whether the digits at i are a later group of a longer number.
func continues(s string, i int) bool { return i > 1 && s[i-1] == ' ' && char.IsDigit(s[i-2]) }

// inHexDump reports whether there are more pairs of hexadecimal digits beside those from start to end.
func inHexDump(s string, start, end int) bool {
	pair := func(i int) bool { return i >= 0 && i+1 < len(s) && char.IsHex(s[i]) && char.IsHex(s[i+1]) }
	beside := 0
	for at := end; at < len(s) && s[at] == ' ' && pair(at+1) && !char.WordAfter(s, at+3) && beside < 2; at += 3 {
		beside++
	}
	for at := start - 1; at >= 0 && s[at] == ' ' && pair(at-2) && !char.WordBefore(s, at-2) && beside < 2; at -= 3 {
		beside++
	}
	return beside > 1
}

// Announced returns the end of the number that begins with the digit or parenthesis at i, where a name or a word announces a phone
// number: 7 to 15 digits in groups of any form. Ten digits are complete unless they continue without a space.
func Announced(s string, i int) (end int) {
	digits, first := 0, i
	for at := i; digits < MaxPhone; {
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
		for ; at < len(s) && char.IsDigit(s[at]); at++ {
		}
		width := at - start
		if width == 0 || separators > 3 || digits+width > MaxPhone {
			break
		}
		if digits == 0 {
			first = start
		} else if end > 0 && (at < len(s) && s[at] == ':' || (digits >= 10 || start-first >= MinPhone && separators == 1 && digits == start-first-1) && s[end] == ' ') {
			break // a time; or the number was complete
		}
		if digits += width; digits >= MinPhone && MayEnd(s, at) {
			end = at
		}
		if IsDate(s[first:at]) {
			return 0
		}
	}
	if end > 0 && IsDecimal(s[i:end]) {
		return 0
	}
	return end
}

// IsDecimal reports whether a text is a number with a fraction, or an IP address padded with zeros: 1.000000, 127.000.000.001.
func IsDecimal(s string) bool {
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

// IsDate reports whether a text is a date: 2024-01-15, 15.01.2024, 01/15/2024.
func IsDate(s string) bool {
	if len(s) != 10 {
		return false
	}
	year, a, b := s[:4], s[4], s[7]
	if char.IsDigit(a) {
		year, a, b = s[6:], s[2], s[5]
	}
	return (year[:2] == "19" || year[:2] == "20") && a == b && strings.IndexByte("-./", a) >= 0 && char.IsDigit(year[2]) && char.IsDigit(year[3])
}

// Extension returns the end of the extension that follows a phone number, such as "ext. 22", "x204" and ",,1234#", or end itself.
func Extension(s string, end int) int {
	if strings.HasPrefix(s[end:], ",,") {
		at := end + 2
		for at < len(s) && char.IsDigit(s[at]) && at-end < 12 {
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
		for last < len(s) && char.IsDigit(s[last]) {
			last++
		}
		if last > first && last-first <= 6 && !char.WordAfter(s, last) {
			return last
		}
	}
	return end
}
