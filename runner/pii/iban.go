package pii

import "strings"

// ibanLengths are how long account numbers are, by country, as the registry of ISO 13616 has them: the lengths, each with
// its countries.
var ibanLengths = map[int]string{
	15: "NO", 16: "BE", 18: "DK FI FO GL NL SD FK", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN", 21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA",
	23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
	28: "AL AZ BY CY DO GT HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
}

// iban returns where the account number ends that begins at i: a country, two check digits, the length of that country,
// written whole or in groups of four, and the right remainder (ISO 7064, mod 97-10).
func iban(s string, i int) (end int) {
	if len(s)-i < 15 || !isLetter(s[i]) || !isLetter(s[i+1]) || !isDigit(s[i+2]) || !isDigit(s[i+3]) {
		return 0
	}
	length := 0
	country := strings.ToUpper(s[i : i+2])
	for n, countries := range ibanLengths {
		if strings.Contains(countries, country) {
			length = n
		}
	}
	lower := !isUpper(s[i]) // all or none
	number := make([]byte, 0, 34)
	for end = i; len(number) < length; end++ {
		if end >= len(s) {
			return 0
		}
		if s[end] == ' ' && len(number)%4 == 0 && s[end-1] != ' ' {
			continue
		}
		c := s[end]
		switch {
		case lower && c-'a' < 26:
			c -= 'a' - 'A'
		case !isDigit(c) && (lower || !isUpper(c)):
			return 0
		}
		number = append(number, c)
	}
	if length == 0 || wordAt(s, end) {
		return 0
	}
	rest := 0
	for _, c := range append(number[4:len(number):len(number)], number[:4]...) {
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return 0
	}
	return end
}

func isUpper(c byte) bool { return c-'A' < 26 }
