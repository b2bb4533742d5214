package pii

import "strings"

// northAmerican returns where the number ends of the North American plan: in groups, or as ten digits where a name says so.
func northAmerican(s string, groups []group, named bool) (end int) {
	at := func(n int) string { return s[groups[n].start:groups[n].end] }
	switch {
	case formed(s, groups, 3, 3, 4) && numberPlan(at(0), at(1)):
		return groups[2].end
	case formed(s, groups, 1, 3, 3, 4) && at(0) == "1" && numberPlan(at(1), at(2)):
		return groups[3].end
	case named && formed(s, groups, 10) && numberPlan(at(0)[:3], at(0)[3:6]):
		return groups[0].end
	}
	return 0
}

// numberPlan tells whether an area code and the three digits after it can be: neither begins with 0 or 1, nor is a service
// such as 911. Numbers of area 555 are made up, and are taken for what they are meant to be.
func numberPlan(area, exchange string) bool {
	if area == "555" {
		return true // of no place: the number that people make up
	}
	return area[0] >= '2' && exchange[0] >= '2' && area[1:] != "11" && exchange[1:] != "11" && area[1] != '9'
}

// otherPhone returns where the number ends of another plan without its country code: the French form, which is like
// nothing else, and any where a name says so.
func otherPhone(s string, groups []group, named bool) (end int) {
	if end = fromAbroad(s, groups); end > 0 {
		return end
	}
	if end = trunkZero(s, groups); end > 0 {
		return end
	}
	if end = slashed(s, groups); end > 0 {
		return end
	}
	if first := groups[0]; s[first.start] == '0' && first.end-first.start > 1 && s[first.start+1] != '0' && first.end < len(s) && s[first.end] == ' ' && !goesOn(s, first.start) {
		for _, form := range [][]int{{3, 3, 2, 2}, {4, 3, 2, 2}, {4, 2, 2, 2}, {2, 4, 4}} { // of Switzerland, Turkey, Belgium, Australia
			if formed(s, groups, form...) && !(isYear(s, groups[1]) && isYear(s, groups[len(form)-1])) {
				return groups[len(form)-1].end
			}
		}
	}
	if formed(s, groups, 1, 3, 3, 3) && s[groups[0].start] == '0' && s[groups[1].start] == '8' && s[groups[0].end] == ' ' && !goesOn(s, groups[0].start) {
		return groups[3].end // of a service, in France
	}
	if formed(s, groups, 2, 2, 2, 2, 2) && s[groups[0].start] == '0' && s[groups[0].start+1] != '0' && !inDump(s, groups[0].start, groups[4].end) {
		return groups[4].end
	}
	if !named {
		return 0
	}
	return loosePhone(s, groups[0].start)
}

// fromAbroad returns where the number ends that begins with 00, or 001, in place of '+'. It is in groups: a run of digits
// that begins with zeros is something else.
func fromAbroad(s string, groups []group) (end int) {
	first := s[groups[0].start:groups[0].end]
	if goesOn(s, groups[0].start) || len(groups) < 2 || len(first) < 3 || len(first) > 6 || first[:2] != "00" || first[2] == '0' {
		return 0
	}
	return international(s, groups[0].start+2)
}

// goesOn tells whether the digits at i go on from others: a group of a longer number.
func goesOn(s string, i int) bool { return i > 1 && s[i-1] == ' ' && isDigit(s[i-2]) }

// trunkZero returns where the number ends that is in groups, as in 020 7946 0958 and 07700 900123: ten or eleven digits, of
// which the first is a zero and the second is not.
func trunkZero(s string, groups []group) (end int) {
	first := s[groups[0].start:groups[0].end]
	if goesOn(s, groups[0].start) || first[0] != '0' || len(first) < 2 || first[1] == '0' || len(first) > 5 {
		return 0
	}
	if len(first) == 2 { // 03-1234-5678, 06-12345678
		for _, rest := range [][]int{{2, 4, 4}, {2, 8}} {
			if formed(s, groups, rest...) && s[groups[0].end] == '-' {
				return groups[len(rest)-1].end
			}
		}
		return 0
	}
	digits := len(first)
	for n := 1; n < min(4, len(groups)); n++ {
		g := groups[n]
		if digits += g.end - g.start; g.end-g.start < 3 || s[g.start-1] == '.' || s[g.start-1] != s[groups[1].start-1] {
			break
		}
		if (digits == 10 || digits == 11) && mayEnd(s, g.end) {
			end = g.end
		}
	}
	return end
}

// inDump tells whether more pairs of hexadecimal digits stand beside those from start to end: bytes that are written out.
func inDump(s string, start, end int) bool {
	pair := func(i int) bool { return i >= 0 && i+1 < len(s) && isHex(s[i]) && isHex(s[i+1]) }
	beside := 0
	for at := end; at < len(s) && s[at] == ' ' && pair(at+1) && !wordAt(s, at+3) && beside < 2; at += 3 {
		beside++
	}
	for at := start - 1; at >= 0 && s[at] == ' ' && pair(at-2) && !wordBefore(s, at-2) && beside < 2; at -= 3 {
		beside++
	}
	return beside > 1
}

const (
	leastDigits = 7  // of a number that is known to be a phone's
	mostDigits  = 15 // E.164
)

// mayGoOn tells whether digits go on behind groups, past what splitGroups takes for a separator.
func mayGoOn(s string, groups []group) bool {
	end := groups[len(groups)-1].end
	return end+1 < len(s) && strings.IndexByte(" -/().", s[end]) >= 0 && (isDigit(s[end+1]) || strings.IndexByte(" -/(", s[end+1]) >= 0)
}

// loosePhone returns where the number ends that begins at i, a digit or a parenthesis, where a name or a word says that one
// does: 7 to 15 digits in groups of any form. Ten digits are a whole one, unless they go on without a space.
func loosePhone(s string, i int) (end int) {
	if end = looseEnd(s, i); end > 0 && isDecimal(s[i:end]) {
		return 0
	}
	return end
}

func looseEnd(s string, i int) (end int) {
	digits, first := 0, i
	for at := i; digits < mostDigits; {
		separators := 0
		for ; at < len(s) && separators <= 3 && strings.IndexByte(" -./()", s[at]) >= 0; at++ {
			separators++
		}
		start := at
		for ; at < len(s) && isDigit(s[at]); at++ {
		}
		width := at - start
		if width == 0 || separators > 3 || digits+width > mostDigits {
			return end
		}
		if digits == 0 {
			first = start
		} else if end > 0 && (at < len(s) && s[at] == ':' || (digits >= 10 || start-first >= leastDigits && separators == 1 && digits == start-first-1) && s[end] == ' ') {
			return end // a time; or it was whole
		}
		if digits += width; digits >= leastDigits && mayEnd(s, at) {
			end = at
		}
		if isDate(s[first:at]) {
			return 0
		}
	}
	return end
}

// isDecimal tells whether what stands from start to end is a number with a fraction, or an address of a machine that is
// written in full: 1.000000, 127.000.000.001.
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

// isDate tells whether digits are a date: 2024-01-15, 15.01.2024, 01/15/2024.
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

// extension returns where the number of an extension ends that follows a phone number: "ext. 22", "x204". It returns end
// itself when there is none.
func extension(s string, end int) int {
	if end+2 < len(s) && s[end:end+2] == ",," { // of a conference
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
	if at >= len(s) || strings.IndexByte("eExXdDpP", s[at]) < 0 {
		return end
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
		if last > first && last-first <= 6 && !wordAt(s, last) {
			return last
		}
	}
	return end
}

// slashed returns where the number ends whose area code has another separator behind it than the rest: 030/1234567, 0701-23 45 67.
func slashed(s string, groups []group) (end int) {
	first := groups[0]
	code := s[first.start:first.end]
	if first.start > 0 && strings.IndexByte("/=_-.", s[first.start-1]) >= 0 {
		return 0 // of a path
	}
	if len(code) < 2 || len(code) > 5 || code[0] != '0' || code[1] == '0' || goesOn(s, first.start) || first.end >= len(s) {
		return 0
	}
	switch {
	case s[first.end] == '/' && len(code) > 2 && len(groups) == 1:
		for end = first.end + 1; end < len(s) && isDigit(s[end]); end++ {
		}
		if n := end - first.end - 1; n < 6 || n > 8 || n+len(code) > 12 || !mayEnd(s, end) {
			return 0
		}
		return end
	case s[first.end] == '-' && len(groups) > 2 && len(code) < 5:
		digits := len(code)
		for n := 1; n < len(groups); n++ {
			g := groups[n]
			if width := g.end - g.start; width < 2 || width > 3 || n > 1 && s[g.start-1] != ' ' {
				break
			}
			if digits += groups[n].end - g.start; n > 1 && digits >= 9 && digits <= 10 && mayEnd(s, g.end) {
				end = g.end
			}
		}
	}
	return end
}
