package number

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
)

// ibanCountries are the countries in the registry of ISO 13616, by the length of their account numbers.
var ibanCountries = map[int]string{
	15: "NO", 16: "BE", 18: "DK FI FO GL NL SD FK", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN", 21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA",
	23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
	28: "AL AZ BY CY DO GT HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
}

const maxIBAN = 34

// IBAN returns the end of the account number that begins at i: a country, two check digits, that country's length, written whole or in
// groups of four, and the remainder of ISO 7064, mod 97-10. Its letters are all lower case or all upper case.
func IBAN(s string, i int) (end int) {
	if len(s)-i < 15 || !char.IsLetter(s[i]) || !char.IsLetter(s[i+1]) || !char.IsDigit(s[i+2]) || !char.IsDigit(s[i+3]) {
		return 0
	}
	length := 0
	country := strings.ToUpper(s[i : i+2])
	for n, countries := range ibanCountries {
		if strings.Contains(countries, country) {
			length = n
		}
	}
	lower := !char.IsUpper(s[i])
	var buf [maxIBAN]byte
	number := buf[:0]
	for end = i; len(number) < length; end++ {
		if separator, n := separatorAt(s, end); n > 0 && separator != '.' && len(number)%4 == 0 {
			end += n
		}
		if end >= len(s) {
			return 0
		}
		c := s[end]
		switch {
		case lower && c-'a' < 26:
			c -= 'a' - 'A'
		case !char.IsDigit(c) && (lower || !char.IsUpper(c)):
			return 0
		}
		number = append(number, c)
	}
	if length == 0 || char.WordAfter(s, end) || mod97(number[4:], number[:4]) != 1 {
		return 0
	}
	return end
}

// mod97 returns the number that the characters stand for modulo 97. Letters stand for 10 to 35.
func mod97(parts ...[]byte) (rest int) {
	for _, part := range parts {
		for _, c := range part {
			if char.IsDigit(c) {
				rest = (rest*10 + int(c-'0')) % 97
			} else {
				rest = (rest*100 + int(c-'A') + 10) % 97
			}
		}
	}
	return rest
}
