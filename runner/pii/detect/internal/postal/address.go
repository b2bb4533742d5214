// Package postal reads postal addresses in texts.
package postal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

const (
	maxStreetWords = 4 // before or after the word for a street
	maxTail        = 4 // parts after the street: flat, district, city with postal code, country
)

// Find returns the postal address whose house number is at i, if it begins after from: 12 Baker Street, London; Hauptstraße 5, 10115 Berlin; 3
// rue de la Paix; Calle Mayor 10.
func Find(s string, from, i int) (start, end int) { return (&street{s, from}).address(i) }

// street finds one address in a text.
type street struct {
	s    string
	from int // nothing before it is examined
}

// address returns the postal address whose house number is at i: 12 Baker Street, London; Hauptstraße 5, 10115 Berlin; 3 rue de la Paix;
// Calle Mayor 10.
func (f *street) address(i int) (start, end int) {
	s, number := f.s, i
	for number < len(s) && char.IsDigit(s[number]) {
		number++
	}
	if number-i > 5 || s[i] == '0' {
		return 0, 0
	}
	if number < len(s) && char.IsLetter(s[number]) && !char.WordAfter(s, number+1) { // 221B
		number++
	}
	if number+1 < len(s) && (s[number] == '-' || s[number] == '/') && char.IsDigit(s[number+1]) { // 12-14
		for number++; number < len(s) && char.IsDigit(s[number]); number++ {
		}
	}
	if char.WordAfter(s, number) {
		return 0, 0
	}
	if i > f.from+3 && s[i-1] == ' ' && strings.IndexByte("0123456789:=", s[i-2]) < 0 {
		end, tail := addressTail(s, number)
		if at, weak := f.streetBefore(i - 1); at >= 0 && (!weak || tail >= cityTail) {
			return at, end
		}
		if at := f.capitalsBefore(i - 1); tail == codeTail && at < i { // Unter den Linden 77, 10117 Berlin
			return at, end
		}
	}
	for _, more := range []string{" bis", " ter"} {
		if strings.HasPrefix(s[number:], more) {
			number += len(more)
		}
	}
	if number+6 >= len(s) || s[number] != ' ' && !strings.HasPrefix(s[number:], ", ") || i > 0 && strings.IndexByte("-/.:$#", s[i-1]) >= 0 {
		return 0, 0
	}
	at := number + strings.IndexByte(s[number:number+2], ' ') + 1
	to, weak := streetAfter(s, at)
	if to == 0 {
		return 0, 0
	}
	if end, tail := addressTail(s, to); !weak || tail >= cityTail {
		return f.withFlat(i), end
	}
	return 0, 0
}

// FindCJK returns the address in Chinese or Japanese whose letters or postal code begin at or before i: 〒100-0001 東京都千代田区千代田1-1,
// 北京市海淀区中关村大街27号. It has two names of districts and a number at least.
func FindCJK(s string, i int) (start, end int) {
	districts := 0
	start = -1
	for at, n := i, 0; at < len(s) && n < maxCJKAddress; n++ {
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case unicode.IsDigit(r):
			if districts >= 2 {
				end = at + size
			}
		case strings.ContainsRune("省市区區県縣都府道郡町村路街巷", r):
			if start < 0 {
				start = cjkStart(s[i:at]) + i
			}
			districts++
		case strings.ContainsRune("号號番室楼樓层層階", r) && end > 0 && end == at:
			end = at + size
		case !char.IsSpaceless(r) && !strings.ContainsRune("- －−〒", r):
			return start, end
		}
		at += size
	}
	return start, end
}

const maxCJKAddress = 50 // characters of an address in Chinese or Japanese

// cjkStart returns the beginning of the district whose name, but for its last letter, ends a text.
func cjkStart(before string) int {
	if code := strings.LastIndex(before, "〒"); code >= 0 {
		return code
	}
	at := len(before)
	for n := 0; n < 3 && at > 0; n++ {
		r, size := utf8.DecodeLastRuneInString(before[:at])
		if !char.IsSpaceless(r) || strings.ContainsRune("在是于到住は", r) {
			break
		}
		at -= size
	}
	return at
}

// withFlat returns the beginning of the number of a flat before the house number at i: Flat 3, 12 Baker Street.
func (f *street) withFlat(i int) int {
	before := f.s[max(f.from, i-24):i]
	fields := strings.Fields(before)
	if n := len(fields); n >= 2 && strings.HasSuffix(before, ", ") && lexicon.Words()["flat"][strings.ToLower(fields[n-2])] && len(fields[n-1]) <= 5 {
		return i - len(before) + strings.LastIndex(before, fields[n-2])
	}
	return i
}

// capitalsBefore returns the beginning of up to three capitalized words, with particles, that end at end, or a later position without such words.
func (f *street) capitalsBefore(end int) (start int) {
	start = end + 1
	for n, at := 0, end; n < 3 && at > f.from; {
		first := at
		for first > f.from && at-first < char.MaxWord && isStreetByte(f.s[first-1]) {
			first--
		}
		switch w := f.s[first:at]; {
		case len(w) > 1 && char.IsCapital(w) && (!lexicon.IsNoName(w) && !lexicon.IsOrdinary(w) || w == "Am" || n > 0):
			start, n = first, n+1
		case n == 0 && len(w) > 1 && streetWord(strings.ToLower(w)), n > 0 && lexicon.Words()["particle"][w]:
		default:
			return start
		}
		if first <= f.from || f.s[first-1] != ' ' {
			return start
		}
		at = first - 1
	}
	return start
}

// streetWord reports whether a word in lower case is one for a street: Karl Johans gate 22.
func streetWord(w string) bool {
	return lexicon.Words()["street-end"][w] || lexicon.Words()["street-end-weak"][w]
}

// streetAfter returns the end of the street whose name begins at i, after a house number, and whether only a city makes it one.
func streetAfter(s string, i int) (end int, weak bool) {
	if w := WordTo(s, i); lexicon.Words()["street-start"][strings.ToLower(w)] && char.IsLetter(s[i]) { // 12 rue de la Paix
		at, n := i+len(w), 0
		for at < len(s) && s[at] == ' ' && n < maxStreetWords+2 {
			w := WordTo(s, at+1)
			if w == "" || !char.IsCapital(w) && !lexicon.Words()["particle"][strings.ToLower(w)] && !strings.Contains(w, "'") && !strings.Contains(w, "’") {
				break
			}
			at += 1 + len(w)
			if n++; len(w) > 4 && s[at-1] == '.' { // the end of the sentence
				return at - 1, char.IsUpper(s[i])
			}
			if char.IsCapital(w) || len(w) > 3 && strings.ContainsAny(w, "'’") {
				end = at
			}
		}
		return end, char.IsUpper(s[i]) // Via, Place and the like are also English words
	}
	for at, n := i, 0; n <= maxStreetWords; n++ {
		w := WordTo(s, at)
		if w == "" || !char.IsCapital(w) && !(n == 0 && char.IsDigit(w[0]) && len(w) > 2 && char.IsLetter(w[len(w)-1])) { // 5th Avenue
			return 0, false
		}
		end = at + len(w)
		if n == 0 && lexicon.Words()["not-street"][strings.ToLower(w)] {
			return 0, false
		}
		if lower := strings.ToLower(strings.TrimSuffix(w, ".")); n > 0 {
			switch {
			case lexicon.Words()["street-word"][lower]:
				if w, ok := strings.CutPrefix(s[end:min(len(s), end+len(" North"))], " "); ok {
					w = WordTo(w, 0)
					if char.IsCapital(w) && lexicon.Words()["direction"][strings.ToLower(w)] && !char.WordAfter(s, end+1+len(w)) {
						end += 1 + len(w)
					}
				}
				return end, false
			case lexicon.Words()["street-word-weak"][lower] && !(end < len(s) && s[end] == ' ' && char.IsCapital(WordTo(s, end+1))):
				return end, true
			}
		}
		space := char.SpaceAt(s, end)
		if space == 0 {
			return 0, false
		}
		at = end + space
	}
	return 0, false
}

// streetBefore returns the beginning of the street whose name ends at end, before the space and the house number, or -1, and whether only a
// city makes it one.
func (f *street) streetBefore(end int) (start int, weak bool) {
	s, low := f.s, max(f.from, end-char.MaxBefore)
	before := strings.TrimSuffix(strings.TrimSuffix(s[low:end], "д."), ", ") // ул. Тверская, д. 7
	before = strings.TrimSuffix(before, ",")
	end = low + len(before)
	if start, weak = f.box(before, end); start >= 0 {
		return start, weak
	}
	for n, at := 0, end; n <= maxStreetWords && at > low; n++ {
		start = at
		for start > low && isStreetByte(s[start-1]) {
			start--
		}
		w := s[start:at]
		lower := strings.ToLower(w)
		if w == "" || start == low && low > f.from && n < 2 {
			return -1, false
		}
		if n == 0 && isSpacelessStreet(w) {
			return f.koreanStart(start), false
		}
		if n == 0 && char.IsCapital(w) {
			if name, ok := streetSuffix(lower, "street-end"); ok && (name > 2 || n == 0 && start > low) {
				return f.streetStart(start, name), false
			}
			if name, ok := streetSuffix(lower, "street-end-weak"); ok && name > 2 {
				return f.streetStart(start, name), true
			}
		}
		if n > 0 && lexicon.Words()["street-start"][lower] && char.IsCapital(w) {
			return start, lower == "place" || lower == "via" || lower == "plaza" || lower == "route" || lower == "carrera"
		}
		if n > 0 && (lower == "ul." || lower == "jl." || lower == "al." || lower == "ул.") {
			return start, false
		}
		if !char.IsCapital(w) && !lexicon.Words()["particle"][lower] || start <= low || s[start-1] != ' ' {
			return -1, false
		}
		at = start - 1
	}
	return -1, false
}

// box returns the beginning of the words before the number of a box, in a text that ends at end, or -1, and whether only a city makes it one.
func (f *street) box(before string, end int) (start int, weak bool) {
	for _, w := range []string{"P.O. Box", "PO Box", "P. O. Box", "Post Office Box"} {
		if strings.HasSuffix(before, w) {
			return end - len(w), false
		}
	}
	w := before[strings.LastIndexAny(before, " \n,")+1:]
	if char.IsCapital(w) && lexicon.Words()["box"][strings.ToLower(w)] {
		return end - len(w), true
	}
	return -1, false
}

// isSpacelessStreet reports whether a word ends like a street in Korea.
func isSpacelessStreet(w string) bool {
	return char.HasAnySuffix(w, "로", "길") && len(w) > len("로길")
}

// koreanStart returns the beginning of the city and districts before a street at i.
func (f *street) koreanStart(i int) int {
	for i > f.from && f.s[i-1] == ' ' {
		before := f.s[max(f.from, i-1-char.MaxWord) : i-1]
		w := before[strings.LastIndexAny(before, " \n\t,:(")+1:]
		if !char.HasAnySuffix(w, "시", "도", "구", "군", "읍", "면") {
			break
		}
		i -= 1 + len(w)
	}
	return i
}

// streetSuffix returns the bytes of a word before the ending that makes it a street: Haupt-straße.
func streetSuffix(lower, section string) (before int, ok bool) {
	for n := 2; n <= 9 && n <= len(lower); n++ {
		if at := len(lower) - n; lexicon.Words()[section][lower[at:]] {
			return at, true
		}
	}
	return 0, false
}

// streetStart returns the beginning of a street whose last word begins at i: "Karl-Marx-Straße", "Unter den Linden", "Frankfurter Allee".
func (f *street) streetStart(i, name int) int {
	for n := 0; n < 2 && (name <= 1 || n == 0); n++ {
		at := i - 1
		if at <= f.from || f.s[at] != ' ' {
			return i
		}
		start := at
		for start > f.from && at-start < char.MaxWord && isStreetByte(f.s[start-1]) {
			start--
		}
		w := f.s[start:at]
		if w == "" || name > 1 || !char.IsCapital(w) {
			return i
		}
		i = start
	}
	return i
}

func isStreetByte(c byte) bool {
	return char.IsLetter(c) || c >= utf8.RuneSelf || strings.IndexByte("-./'", c) >= 0
}

// WordTo returns the word of a street at i: letters, digits, hyphens, apostrophes, and a dot at its end.
func WordTo(s string, i int) string {
	at := i
	for at < len(s) && at-i <= char.MaxWord && (char.IsAlnum(s[at]) || s[at] >= utf8.RuneSelf || at > i && (s[at] == '-' || s[at] == '\'')) {
		at++
	}
	if at < len(s) && at > i && s[at] == '.' {
		at++
	}
	return s[i:min(at, len(s))]
}

// tail is what follows a street.
type tail uint8

const (
	noTail   tail = iota
	cityTail      // words after a comma
	codeTail      // a postal code that is no year, and then words
)

// addressTail returns the end of an address whose street ends at i, and what follows the street.
func addressTail(s string, i int) (end int, found tail) {
	end = i
	at := i
	for range maxTail {
		begin := at
		for at < len(s) && at-begin < 4 && (s[at] == ' ' || s[at] == ',' || s[at] == '\r' || s[at] == '\n' && strings.IndexByte(s[begin:at], '\n') < 0) {
			at++
		}
		gap := s[begin:at]
		comma := strings.ContainsAny(gap, ",\n")
		if gap == "" {
			return end, found
		}
		part := addressPart(s, at)
		switch {
		case part.code && (part.words > 0 || comma && found > 0):
			end, found = part.end, max(found, cityTail)
			if gap == ", " && begin == i && part.codeFirst && part.city && !part.year {
				found = codeTail
			}
		case part.code || part.words == 0 || !comma:
			return end, found
		case part.words <= 3 && mayEndPart(s, part.end) && strings.IndexByte(gap, '\n') < 0 && found < codeTail:
			end, found = part.end, max(found, cityTail)
		}
		at = part.end
	}
	return end, found
}

// mayEndPart reports whether a part of an address may end at i.
func mayEndPart(s string, i int) bool {
	return i >= len(s) || strings.IndexByte(",.\n\r;)\"'", s[i]) >= 0
}

// part is a part of an address.
type part struct {
	end       int
	words     int  // capitalized ones
	city      bool // one of them may be the name of a city
	code      bool // there is a postal code
	year      bool // which may be a year
	codeFirst bool // it has four digits at least, and precedes the words
}

// addressPart reads capitalized words and codes with digits at i: "10115 Berlin", "Springfield, IL 62704", "London SW1A 2AA", "Dublin 1".
func addressPart(s string, i int) (p part) {
	p.end = i
	for at := i; ; {
		w := strings.TrimSuffix(WordTo(s, at), ".")
		switch {
		case w == "" || p.words >= 4:
			return p
		case isPostcode(w):
			p.code = true
			p.codeFirst = p.words == 0 && len(w) >= 4 && char.IsDigit(w[3])
			p.year = len(w) == 4 && (w[:2] == "19" || w[:2] == "20")
		case isSplitCode(s, at):
			p.code, p.codeFirst = true, p.words == 0
			w = s[at : at+len("111 20")]
		case char.IsCapital(w):
			p.words++
			p.city = p.city || isCity(w) && !lexicon.IsNoName(w)
		case len(w) <= 2 && char.IsDigit(w[0]) && p.words > 0 && mayEndPart(s, at+len(w)):
			p.end = at + len(w)
			return p
		case !(lexicon.Words()["particle"][w] && p.end > i):
			return p
		}
		at += len(w)
		if char.IsCapital(w) || char.IsDigit(w[0]) {
			p.end = at
		}
		if at >= len(s) || s[at] != ' ' {
			return p
		}
		at++
	}
}

// isCity reports whether a capitalized word may be the name of a city, unlike MB and MiB.
func isCity(w string) bool {
	w, _, _ = strings.Cut(w, "-") // Aix-en-Provence
	_, size := utf8.DecodeRuneInString(w)
	return utf8.RuneCountInString(w) > 2 && (w[size:] == strings.ToLower(w[size:]) || char.IsCapitals(w))
}

// isSplitCode reports whether a postal code of three and two digits is at i: 111 20.
func isSplitCode(s string, i int) bool {
	const form = "111 20 A"
	if len(s)-i < len(form) || s[i+3] != ' ' || s[i+6] != ' ' {
		return false
	}
	return strings.Trim(s[i:i+3], "0123456789") == "" && strings.Trim(s[i+4:i+6], "0123456789") == "" && char.IsCapital(s[i+7:])
}

// isPostcode reports whether a word is a postal code or half of one: 10115, 1016AB, SW1A, 2AA, D-10115, 00-950.
func isPostcode(w string) bool {
	digits := 0
	for i := range len(w) {
		if char.IsDigit(w[i]) {
			digits++
		} else if !char.IsUpper(w[i]) && w[i] != '-' {
			return false
		}
	}
	letters := len(w) - digits
	return digits >= 4 && digits <= 9 && letters <= 2 || digits >= 1 && digits <= 2 && letters >= 1 && letters <= 3 && len(w) >= 2 && len(w) <= 4
}
