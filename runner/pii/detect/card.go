package detect

import "strings"

// issuer is a range of the numbers of a payment network: the first and last prefix, of equal length, and the number lengths.
type issuer struct {
	first, last string
	lengths     []int
}

// issuers are the networks' documented ranges. Numbers longer than 16 digits count only in groups or after a word such as "card": a plain
// run of digits is more often an identifier.
var issuers = []issuer{
	{"4", "4", []int{13, 16, 19}},                    // Visa
	{"51", "55", []int{16}},                          // Mastercard
	{"2221", "2720", []int{16}},                      // Mastercard
	{"34", "34", []int{15}}, {"37", "37", []int{15}}, // American Express
	{"300", "305", []int{14, 16, 19}}, {"36", "36", []int{14, 16, 19}}, {"38", "39", []int{14, 16, 19}}, // Diners Club
	{"3528", "3589", []int{16, 17, 18, 19}},                                        // JCB
	{"6011", "6011", []int{16, 17, 18, 19}}, {"644", "659", []int{16, 17, 18, 19}}, // Discover
	{"60", "60", []int{16, 19}}, {"62", "62", []int{16, 17, 18, 19}}, {"81", "82", []int{16, 19}}, {"508", "508", []int{16, 19}}, // UnionPay, RuPay
	{"2200", "2204", []int{16, 17, 18, 19}},                                                                                   // Mir
	{"5018", "5020", []int{16, 17, 18, 19}}, {"5038", "5038", []int{16, 17, 18, 19}}, {"5893", "5893", []int{16, 17, 18, 19}}, // Maestro
	{"6304", "6304", []int{16, 17, 18, 19}}, {"6759", "6759", []int{16, 17, 18, 19}}, {"6761", "6763", []int{16, 17, 18, 19}}, // Maestro
}

// card returns the end of the payment card number that the groups begin with. The number must pass Luhn's check. Unless a word such as
// "card" announces it, it must also have an issuer's prefix and length, and be grouped as cards are.
func (f *finder) card(groups []group) (end int) {
	if countDigits(groups) < 12 {
		return 0
	}
	if end = f.plainCard(groups); end > 0 {
		return end
	}
	return f.announcedCard(groups)
}

// plainCard returns the end of a card number that no word announces.
func (f *finder) plainCard(groups []group) (end int) {
	s := f.s
	n := 0
	switch {
	case formed(s, groups, 4, 4, 4, 4, 3):
		n = 5
	case formed(s, groups, 4, 4, 4, 4):
		n = 4
	case formed(s, groups, 4, 6, 5), formed(s, groups, 4, 6, 4):
		n = 3
	case groups[0].width() >= 13 && mayEnd(s, groups[0].end):
		n = 1
	default:
		return 0
	}
	number := digitsOf(s, groups[:n])
	if !luhn(number) || !issued(number, n > 1) || n == 1 && f.isIdentifier(groups[0].start) {
		return 0
	}
	return groups[n-1].end
}

// announcedCard returns the end of the longest number of 12 to 19 digits that passes Luhn's check, if a word announces a card.
func (f *finder) announcedCard(groups []group) (end int) {
	for n := len(groups); n > 0; n-- {
		number := digitsOf(f.s, groups[:n])
		if len(number) < 12 {
			return 0
		}
		if luhn(number) && number[0] != '0' && mayEnd(f.s, groups[n-1].end) {
			if f.hintAt(groups[0].start) == Card {
				return groups[n-1].end
			}
			return 0
		}
	}
	return 0
}

// issued reports whether a network issues numbers of this prefix and length.
func issued(number string, grouped bool) bool {
	for _, r := range issuers {
		prefix := number[:len(r.first)]
		if prefix < r.first || prefix > r.last {
			continue
		}
		for _, length := range r.lengths {
			if length == len(number) && (length <= 16 || grouped || r.first == "62") {
				return true
			}
		}
	}
	return false
}

// isIdentifier reports whether a name, a word or a path shows that the digits at i are not a card.
func (f *finder) isIdentifier(i int) bool {
	if hint := f.hintAt(i); hint == record || hint == thing {
		return true
	}
	if i < 2 || f.s[i-1] != '/' || !isAlnum(f.s[i-2]) {
		return false
	}
	before := f.wordsBefore(i)
	return !strings.Contains(before.next(), "card")
}

// luhn reports whether the last digit is right (ISO/IEC 7812-1).
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
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
