package number

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

// IsIssued reports whether a network issues numbers of this prefix and length.
func IsIssued(number string, grouped bool) bool {
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

// HasLuhnDigit reports whether the last digit is right (ISO/IEC 7812-1).
func HasLuhnDigit(number string) bool {
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
