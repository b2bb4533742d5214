package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxStreetWords = 4 // before or after the word for a street
	maxTail        = 4 // parts after the street: flat, district, city with postal code, country
)

// address returns the postal address whose house number is at i: 12 Baker Street, London; Hauptstraße 5, 10115 Berlin; 3 rue de la Paix;
// Calle Mayor 10.
func (f *finder) address(i int) (start, end int) {
	s, number := f.s, i
	for number < len(s) && isDigit(s[number]) {
		number++
	}
	if number-i > 5 || s[i] == '0' {
		return 0, 0
	}
	if number < len(s) && isLetter(s[number]) && !wordAfter(s, number+1) { // 221B
		number++
	}
	if number+1 < len(s) && (s[number] == '-' || s[number] == '/') && isDigit(s[number+1]) { // 12-14
		for number++; number < len(s) && isDigit(s[number]); number++ {
		}
	}
	if wordAfter(s, number) {
		return 0, 0
	}
	if i > f.from+4 && s[i-1] == ' ' && strings.IndexByte("0123456789:=", s[i-2]) < 0 {
		if at, weak := f.streetBefore(i - 1); at >= 0 {
			end, city := addressTail(s, number)
			if !weak || city {
				return at, end
			}
		}
	}
	if number+6 < len(s) && s[number] == ' ' || number+6 < len(s) && strings.HasPrefix(s[number:], ", ") {
		if i > 0 && strings.IndexByte("-/.:$#", s[i-1]) >= 0 {
			return 0, 0
		}
		at := number + strings.IndexByte(s[number:number+2], ' ') + 1
		if to, weak := streetAfter(s, at); to > 0 {
			end, city := addressTail(s, to)
			if !weak || city {
				return i, end
			}
		}
	}
	return 0, 0
}

// streetAfter returns the end of the street whose name begins at i, after a house number, and whether only a city makes it one.
func streetAfter(s string, i int) (end int, weak bool) {
	if w := wordTo(s, i); words()["street-start"][strings.ToLower(w)] && isLetter(s[i]) { // 12 rue de la Paix
		at, n := i+len(w), 0
		for at < len(s) && s[at] == ' ' && n < maxStreetWords+2 {
			w := wordTo(s, at+1)
			if w == "" || !isCapital(w) && !words()["particle"][strings.ToLower(w)] && !strings.Contains(w, "'") && !strings.Contains(w, "’") {
				break
			}
			at += 1 + len(w)
			if n++; len(w) > 4 && s[at-1] == '.' { // the end of the sentence
				return at - 1, isUpper(s[i])
			}
			if isCapital(w) || len(w) > 3 && strings.ContainsAny(w, "'’") {
				end = at
			}
		}
		return end, isUpper(s[i]) // Via, Place and the like are also English words
	}
	for at, n := i, 0; n <= maxStreetWords; n++ {
		w := wordTo(s, at)
		if w == "" || !isCapital(w) && !(n == 0 && isDigit(w[0]) && len(w) > 2 && isLetter(w[len(w)-1])) { // 5th Avenue
			return 0, false
		}
		end = at + len(w)
		if lower := strings.ToLower(strings.TrimSuffix(w, ".")); n > 0 {
			switch {
			case words()["street-word"][lower]:
				if w, ok := strings.CutPrefix(s[end:min(len(s), end+len(" North"))], " "); ok {
					w = wordTo(w, 0)
					if isCapital(w) && words()["direction"][strings.ToLower(w)] && !wordAfter(s, end+1+len(w)) {
						end += 1 + len(w)
					}
				}
				return end, false
			case words()["street-word-weak"][lower] && !(end < len(s) && s[end] == ' ' && isCapital(wordTo(s, end+1))):
				return end, true
			}
		}
		space := spaceAt(s, end)
		if space == 0 {
			return 0, false
		}
		at = end + space
	}
	return 0, false
}

// streetBefore returns the beginning of the street whose name ends at end, before the space and the house number, or -1, and whether only a
// city makes it one.
func (f *finder) streetBefore(end int) (start int, weak bool) {
	s, low := f.s, max(f.from, end-maxBefore)
	if s[end-1] == ',' {
		end--
	}
	for n, at := 0, end; n <= maxStreetWords && at > low; n++ {
		start = at
		for start > low && isStreetByte(s[start-1]) {
			start--
		}
		w := s[start:at]
		lower := strings.ToLower(w)
		if w == "" || start == low && low > f.from {
			return -1, false
		}
		if n == 0 && isCapital(w) {
			if name, ok := streetSuffix(lower, "street-end"); ok && (name > 2 || n == 0 && start > low) {
				return f.streetStart(start, name), false
			}
			if name, ok := streetSuffix(lower, "street-end-weak"); ok && name > 2 {
				return f.streetStart(start, name), true
			}
		}
		if n > 0 && words()["street-start"][lower] && isCapital(w) {
			return start, lower == "place" || lower == "via" || lower == "plaza" || lower == "route" || lower == "carrera"
		}
		if n > 0 && (lower == "ul." || lower == "jl." || lower == "al." || lower == "ул.") {
			return start, false
		}
		if !isCapital(w) && !words()["particle"][lower] || start <= low || s[start-1] != ' ' {
			return -1, false
		}
		at = start - 1
	}
	return -1, false
}

// streetSuffix returns the bytes of a word before the ending that makes it a street: Haupt-straße.
func streetSuffix(lower, section string) (before int, ok bool) {
	for n := 2; n <= 9 && n <= len(lower); n++ {
		if at := len(lower) - n; words()[section][lower[at:]] {
			return at, true
		}
	}
	return 0, false
}

// streetStart returns the beginning of a street whose last word begins at i: "Karl-Marx-Straße", "Unter den Linden", "Frankfurter Allee".
func (f *finder) streetStart(i, name int) int {
	for n := 0; n < 2 && (name <= 1 || n == 0); n++ {
		at := i - 1
		if at <= f.from || f.s[at] != ' ' {
			return i
		}
		start := at
		for start > f.from && at-start < maxWordBytes && isStreetByte(f.s[start-1]) {
			start--
		}
		w := f.s[start:at]
		if w == "" || name > 1 || !isCapital(w) {
			return i
		}
		i = start
	}
	return i
}

func isStreetByte(c byte) bool {
	return isLetter(c) || c >= utf8.RuneSelf || c == '-' || c == '.' || c == '\''
}

// isCapital reports whether a word begins with a capital.
func isCapital(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

// wordTo returns the word of a street at i: letters, digits, hyphens, apostrophes, and a dot at its end.
func wordTo(s string, i int) string {
	at := i
	for at < len(s) && at-i <= maxWordBytes && (isAlnum(s[at]) || s[at] >= utf8.RuneSelf || at > i && (s[at] == '-' || s[at] == '\'')) {
		at++
	}
	if at < len(s) && at > i && s[at] == '.' {
		at++
	}
	return s[i:min(at, len(s))]
}

// addressTail returns the end of an address whose street ends at i, and whether a postal code with a city, or a city after a comma, follows.
func addressTail(s string, i int) (end int, city bool) {
	end = i
	at := i
	for range maxTail {
		begin := at
		for at < len(s) && at-begin < 4 && (s[at] == ' ' || s[at] == ',' || s[at] == '\r' || s[at] == '\n' && strings.IndexByte(s[begin:at], '\n') < 0) {
			at++
		}
		comma := strings.IndexByte(s[begin:at], ',') >= 0
		if at == begin {
			return end, city
		}
		part, code, words := addressPart(s, at)
		switch {
		case code && (words > 0 || city || comma):
			end, city = part, true
		case code:
			return end, city
		case comma && words > 0 && words <= 3 && mayEndPart(s, part):
			if !city && s[begin] != '\n' {
				end, city = part, words <= 3
			}
		case words == 0:
			return end, city
		case !comma:
			return end, city
		}
		at = part
	}
	return end, city
}

// mayEndPart reports whether a part of an address may end at i.
func mayEndPart(s string, i int) bool {
	return i >= len(s) || strings.IndexByte(",.\n\r;)\"'", s[i]) >= 0
}

// addressPart reads capitalized words and codes with digits at i: "10115 Berlin", "Springfield, IL 62704", "London SW1A 2AA". It returns their
// end, whether a postal code is among them, and the number of words.
func addressPart(s string, i int) (end int, code bool, n int) {
	end = i
	for at := i; ; {
		w := strings.TrimSuffix(wordTo(s, at), ".")
		switch {
		case w == "" || n >= 4:
			return end, code, n
		case isPostcode(w):
			code = true
		case isCapital(w):
			n++
		case !(words()["particle"][w] && end > i):
			return end, code, n
		}
		at += len(w)
		if isCapital(w) || isDigit(w[0]) {
			end = at
		}
		if at >= len(s) || s[at] != ' ' {
			return end, code, n
		}
		at++
	}
}

// isPostcode reports whether a word is a postal code or half of one: 10115, 1016AB, SW1A, 2AA, D-10115, 00-950.
func isPostcode(w string) bool {
	digits := 0
	for i := range len(w) {
		if isDigit(w[i]) {
			digits++
		} else if !isUpper(w[i]) && w[i] != '-' {
			return false
		}
	}
	letters := len(w) - digits
	return digits >= 4 && digits <= 9 && letters <= 2 || digits >= 1 && digits <= 2 && letters >= 1 && letters <= 3 && len(w) >= 2 && len(w) <= 4
}
