package pii

import (
	"net/netip"
	"strings"
)

// number looks at digits that begin at i, the beginning of a word.
func (f *finder) number(i int) (end int, typ Type) {
	s := f.s
	if f.mayBeginIP(i) {
		if end = ipv4(s, i); end > 0 {
			if !f.isVersion(i, end) {
				return end, IP
			}
			f.version = end
			return 0, ""
		}
	}
	if !mayBegin(s, i) && (s[i-1] != '#' || !isPerson(f.hintAt(i))) {
		return 0, ""
	}
	if end = botToken(s, i); end > 0 {
		return end, Key
	}
	var buf [maxGroups]group
	groups := splitGroups(s, i, buf[:0])
	if len(groups) == 0 {
		return 0, ""
	}
	if end = card(s, groups); end > 0 && (end > groups[0].end || !f.isIdentifier(i)) {
		return end, Card
	}
	if end = f.trunkDigit(i); end > 0 {
		return extension(s, end), Phone
	}
	digits := 0
	for _, g := range groups {
		digits += g.end - g.start
	}
	if startsDate(s, groups) {
		return 0, ""
	}
	if digits < 7 {
		if mayGoOn(s, groups) && f.hintAt(i) == Phone {
			if end = loosePhone(s, i); end > 0 {
				return end, Phone
			}
		}
		if end = slashed(s, groups); end > 0 {
			return end, Phone
		}
		return 0, ""
	}
	hint := f.hintAt(i)
	if hint == "" && len(groups) == 1 && digits == 9 && f.speaksOfSSN(i) {
		hint = SSN
	}
	if hint != Phone && hint != ofThing {
		if end = ssn(s, groups, hint == SSN); end > 0 {
			return end, SSN
		}
	}
	if end = northAmerican(s, groups, hint == Phone); end > 0 {
		return extension(s, end), Phone
	}
	if hint == ofThing {
		return 0, ""
	}
	if end = otherPhone(s, groups, hint == Phone); end > 0 {
		return extension(s, end), Phone
	}
	return 0, ""
}

// isIdentifier tells whether a name, a word or a path says that the digits at i are the number of a thing, not of a card.
func (f *finder) isIdentifier(i int) bool {
	switch f.hintAt(i) {
	case ofIdentifier, ofThing:
		return true
	}
	if i < 2 || f.s[i-1] != '/' || !isAlnum(f.s[i-2]) {
		return false
	}
	words := wordsBefore(f.s, f.from, i)
	return !strings.Contains(words.next(), "card")
}

// trunkDigit returns where the number ends of which the single digit at i, a prefix for calls to other places, stands before an
// area code in parentheses: 1 (212) 555-0123, 8 (912) 345-67-89.
func (f *finder) trunkDigit(i int) (end int) {
	s, at := f.s, i+1
	if s[i] != '1' && s[i] != '8' || at+1 >= len(s) {
		return 0
	}
	if s[at] == ' ' || s[at] == '-' {
		at++
	}
	if s[at] != '(' || at+1 >= len(s) || !isDigit(s[at+1]) {
		return 0
	}
	return phone(s, at)
}

// speaksOfSSN tells whether the line before i names social security numbers.
func (f *finder) speaksOfSSN(i int) bool {
	before := wordsBefore(f.s, f.from, i).text
	return strings.Contains(before, "ssn") || strings.Contains(before, "social security")
}

// startsDate tells whether groups begin with a date, 2024-01-15: most numbers of records do.
func startsDate(s string, groups []group) bool {
	return len(groups) > 2 && isYear(s, groups[0]) && groups[1].end-groups[1].start == 2 && groups[2].end-groups[2].start == 2 && s[groups[0].end] == '-'
}

// isPerson tells whether a hint says that a number is one of a person's.
func isPerson(hint Type) bool { return hint == Phone || hint == SSN }

// mayBegin refuses the middle of longer numbers: decimals, dates, versions, identifiers with hyphens.
func mayBegin(s string, i int) bool {
	if i == 0 {
		return true
	}
	switch s[i-1] {
	case '-':
		return i > 1 && s[i-2] != ' ' && s[i-2] != '$' && !wordBefore(s, i-1) // else a number below zero, or an identifier
	case '.', '/', ':':
		return i < 2 || !isDigit(s[i-2])
	case '$', '@', '#', '%', '\\', '+':
		return false
	}
	return true
}

// mayBeginIP is mayBegin for addresses of machines, which stand where other numbers don't: root@10.0.0.1, -L 80:10.0.0.1:80,
// 10.0.0.1-10.0.0.9.
func (f *finder) mayBeginIP(i int) bool {
	if i == 0 {
		return true
	}
	switch f.s[i-1] {
	case '.':
		return !wordBefore(f.s, i-1)
	case '-':
		return i < 2 || !isDigit(f.s[i-2]) || f.from == i-1
	case '/':
		return i < 2 || !isDigit(f.s[i-2])
	case '$', '#', '%', '\\', '+':
		return false
	}
	return true
}

// mapped returns where the address in the form of version 6 begins whose last part, of version 4, begins at i: ::ffff:10.0.0.1.
func mapped(s string, from, i int) int {
	const prefix = "::ffff:"
	at := i - len(prefix)
	if at < from || !strings.EqualFold(s[at:i], prefix) || wordBefore(s, at) || at > 0 && s[at-1] == ':' {
		return i
	}
	return at
}

// mayEnd refuses the same at the end. What follows a sentence's number, such as a full stop, is fine.
func mayEnd(s string, end int) bool {
	if end >= len(s) {
		return true
	}
	c := s[end]
	if c == '@' || c == '%' || wordAt(s, end) && (c|0x20 != 'x' && c|0x20 != 'e' || extension(s, end) == end) {
		return false
	}
	if (c == '-' || c == '.') && end+1 < len(s) {
		return !isDigit(s[end+1]) && (c != '-' || !isAlnum(s[end+1]))
	}
	return true
}

// ipv4 returns where the dotted address ends that begins at i.
func ipv4(s string, i int) (end int) {
	end = i
	var parts [4]int
	for n := range parts {
		if n > 0 {
			if end >= len(s) || s[end] != '.' {
				return 0
			}
			end++
		}
		first := end
		for end < len(s) && isDigit(s[end]) && end-first < 4 {
			parts[n] = parts[n]*10 + int(s[end]-'0')
			end++
		}
		if width := end - first; width == 0 || width > 3 || parts[n] > 255 || width > 1 && s[first] == '0' {
			return 0
		}
	}
	if wordAt(s, end) || end+1 < len(s) && (s[end] == '.' && isAlnum(s[end+1]) || s[end] == '-' && isLetter(s[end+1])) {
		return 0
	}
	if parts[0] == 0 || parts[0] == 127 || parts[0] >= 240 { // of no machine: reserved, and masks of networks
		return 0
	}
	return end
}

// ipv6 returns where the address ends that begins at i: one of a kind that is given to machines and is not theirs alone.
func ipv6(s string, i int) (end int) {
	if i > 0 && (s[i-1] == ':' || s[i-1] == '.') {
		return 0
	}
	colons := 0
	for end = i; end < len(s) && end-i <= 45; end++ {
		if s[end] == ':' {
			colons++
		} else if !isHex(s[end]) && (s[end] != '.' || colons == 0) {
			break
		}
		if end-i > 4 && colons == 0 {
			return 0
		}
	}
	for end > i && (s[end-1] == '.' || s[end-1] == ':' && (end-2 < i || s[end-2] != ':')) {
		end--
	}
	if colons < 2 || wordAt(s, end) {
		return 0
	}
	a, err := netip.ParseAddr(s[i:end])
	if err != nil || !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return 0
	}
	if strings.HasPrefix(s[i:end], "64:ff9b::") {
		return end // an address of version 4, translated
	}
	if b := a.As16(); b[0] == 0xff && b[1] > 0x7f || b[0]>>5 != 1 && b[0] != 0xfd && b[0] != 0xfe && b[0] != 0xff { // 2000::/3, local, link-local, multicast
		return 0
	}
	return end
}

// group is a run of digits within a number.
type group struct{ start, end int }

const (
	maxGroups = 8
	maxDigits = 19
)

// splitGroups takes digits apart that stand in groups with one space, hyphen or dot between.
func splitGroups(s string, i int, groups []group) []group {
	digits := 0
	for len(groups) < cap(groups) {
		end := i
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		if digits += end - i; digits > maxDigits {
			return groups
		}
		groups = append(groups, group{i, end})
		if end+1 >= len(s) || s[end] != ' ' && s[end] != '-' && s[end] != '.' || !isDigit(s[end+1]) {
			return groups
		}
		i = end + 1
	}
	return groups
}

// formed tells whether groups have these lengths, the same character between, and may end there.
func formed(s string, groups []group, lengths ...int) bool {
	if len(groups) < len(lengths) {
		return false
	}
	for n, length := range lengths {
		g := groups[n]
		if g.end-g.start != length || n > 1 && s[g.start-1] != s[groups[1].start-1] {
			return false
		}
	}
	return mayEnd(s, groups[len(lengths)-1].end)
}

// card returns where the payment card's number ends: of an issuer that there is, in the groups it is written in, and
// with the right last digit (Luhn's).
func card(s string, groups []group) (end int) {
	n := 0
	switch {
	case formed(s, groups, 4, 4, 4, 4, 3):
		n = 5
	case formed(s, groups, 4, 4, 4, 4):
		n = 4
	case formed(s, groups, 4, 6, 5), formed(s, groups, 4, 6, 4):
		n = 3
	case groups[0].end-groups[0].start >= 13 && mayEnd(s, groups[0].end):
		n = 1
	default:
		return 0
	}
	var buf [maxDigits]byte
	number := buf[:0]
	for _, g := range groups[:n] {
		number = append(number, s[g.start:g.end]...)
	}
	if !issued(string(number), n > 1) || !luhn(number) {
		return 0
	}
	return groups[n-1].end
}

// issued tells whether an issuer gives out numbers of this beginning and length. A plain run of 17 digits or more is more
// often an identifier; only groups make a card of it, and the prefix of the one issuer that has them.
func issued(digits string, grouped bool) bool {
	long := func(most int) bool { return len(digits) == 16 || len(digits) > 16 && len(digits) <= most && grouped }
	p1, p2, p3, p4 := number(digits[:1]), number(digits[:2]), number(digits[:3]), number(digits[:4])
	switch {
	case p1 == 4: // Visa
		return len(digits) == 13 || long(19)
	case p2 >= 51 && p2 <= 55, p4 >= 2221 && p4 <= 2720: // Mastercard
		return len(digits) == 16
	case p2 == 34, p2 == 37: // American Express
		return len(digits) == 15
	case p2 == 36, p2 == 38, p2 == 39, p3 >= 300 && p3 <= 305: // Diners Club
		return len(digits) == 14 || long(19)
	case p4 >= 3528 && p4 <= 3589, p4 == 6011, p3 >= 644 && p3 <= 649, p2 == 65: // JCB, Discover
		return long(19)
	case p2 == 62, p2 == 81, p2 == 60, p2 == 82, p3 == 508: // UnionPay, RuPay
		return len(digits) == 16 || len(digits) == 19 && (grouped || p2 == 62)
	case p4 >= 2200 && p4 <= 2204: // Mir
		return long(19)
	case p4 >= 5018 && p4 <= 5020, p4 == 5038, p4 == 5893, p4 == 6304, p4 == 6759, p4 >= 6761 && p4 <= 6763: // Maestro
		return long(19)
	}
	return false
}

func luhn(number []byte) bool {
	sum := 0
	for i := range number {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// ssn returns where the social security number ends that begins with the groups: of the ranges that were given out. Without
// its hyphens it needs a name that says so.
func ssn(s string, groups []group, named bool) (end int) {
	var number string
	switch {
	case formed(s, groups, 3, 2, 4) && s[groups[0].end] != '.':
		number = s[groups[0].start:groups[0].end] + s[groups[1].start:groups[1].end] + s[groups[2].start:groups[2].end]
		end = groups[2].end
	case named && formed(s, groups, 9):
		number, end = s[groups[0].start:groups[0].end], groups[0].end
	default:
		return 0
	}
	area := number[:3]
	if area == "000" || area == "666" || area[0] == '9' || number[3:5] == "00" || number[5:] == "0000" {
		return 0
	}
	if number == "078051120" || number == "219099999" { // printed on samples, and void since
		return 0
	}
	return end
}
