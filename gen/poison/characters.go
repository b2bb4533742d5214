package poison

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible reports whether a character shows nothing: zero-width, bidirectional, tags, variation selectors, fillers.
func invisible(r rune) bool {
	if r < 0xAD {
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// characters looks for what a person would not see: it reads the text as it came.
func (s *scan) characters(place, text string) {
	if i := strings.IndexByte(text, 0x1b); i >= 0 {
		s.add(place, control, around(text, i))
	} else if i := strings.IndexFunc(text, isControl); i >= 0 {
		s.add(place, control, around(text, i))
	}
	if !ascii(text) {
		s.hidden(place, text)
		if word := mixed(text); word != "" {
			s.add(place, homoglyph, word)
		}
	}
	blanks, run := runs(text)
	if blanks >= minBlanks || strings.Count(text, "\n") >= minLines {
		if at := s.rules.longBlank.FindString(text); at != "" {
			s.add(place, blank, strings.TrimSpace(at))
		}
	}
	if run < minRun || strings.HasPrefix(text, "data:image/") { // an icon
		return
	}
	for _, m := range s.rules.longRun.FindAllStringIndex(text, 20) {
		if run := text[m[0]:m[1]]; encoded(run) {
			s.add(place, blob, run)
			break
		}
	}
}

// runs returns the lengths of the longest runs of bytes that may be blanks, and of those that words and encoded data are
// made of. Most text has no long one of either, and looking for that first costs a fraction of matching.
func runs(text string) (blanks, run int) {
	b, w := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', c == '+', c == '/', c == '_', c == '=', c == '-':
			w++
			b = 0
			run = max(run, w)
		case c == ' ', c == '\t', c >= utf8.RuneSelf:
			b++
			w = 0
			blanks = max(blanks, b)
		default:
			b, w = 0, 0
		}
	}
	return blanks, run
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\f' && r != '\v' || r >= 0x7f && r < 0xa0 && r != 0x85
}

// around is the part of text that shows what stands at i.
func around(text string, i int) string {
	from := max(0, i-20)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	return text[from:min(len(text), i+40)]
}

// encoded reports whether a run of characters looks like base64 or hexadecimal: no separators of words, and letters
// of both cases with digits among them, or digits and letters up to f.
func encoded(run string) bool {
	var upper, lower, digit, other int
	hex := true
	for i := range len(run) {
		c := run[i]
		switch {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digit++
		default:
			other++
		}
		hex = hex && (c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f')
	}
	n := len(run)
	if hex {
		return digit > n/20 && upper+lower > n/20
	}
	return upper > n/8 && lower > n/8 && digit > n/50 && other < n/10
}

// hidden finds invisible characters that their surroundings do not explain.
func (s *scan) hidden(place, text string) {
	rtl := strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana)
	})
	var before rune
	said := map[string]bool{}
	for i, r := range text {
		if r < 0xAD || !invisible(r) {
			before = r
			continue
		}
		rule := unseen
		switch {
		case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
			rule = bidi
		case (r == 0x200E || r == 0x200F || r == 0x061C) && rtl:
			rule = ""
		case r == 0xFE0E || r == 0xFE0F: // chooses how the symbol before it looks
			if !letter(before) && before != 0 && !invisible(before) && before != ' ' {
				rule = ""
			}
		case r == 0x200D || r == 0x200C: // joins emoji, and letters in some scripts
			if before >= 0x2190 || before == 0xFE0F || unicode.In(before, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Malayalam, unicode.Sinhala) {
				rule = ""
			}
		case r == 0xFEFF && i == 0, r == 0xAD: // a byte order mark; a soft hyphen
			rule = ""
		case r >= 0xE0020 && r <= 0xE007F && flag(text, i): // England, Scotland and Wales
			rule = ""
		}
		before = r
		if rule != "" && !said[rule] {
			said[rule] = true
			s.add(place, rule, around(text, i))
		}
	}
}

// flag reports whether the tag character at i belongs to a flag: a black flag with at most six of them after it.
func flag(text string, i int) bool {
	const longest = 7 * 4
	from := text[max(0, i-longest):i]
	return strings.Contains(from, "\U0001F3F4")
}

func letter(r rune) bool {
	return r < utf8.RuneSelf && (r|0x20 >= 'a' && r|0x20 <= 'z') || unicode.IsLetter(r)
}

// mixed returns the first word that holds Latin letters and others that look like them.
func mixed(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) < 4 || ascii(word) {
			continue
		}
		latin, alike, foreign := 0, 0, 0
		for _, r := range word {
			switch {
			case unicode.Is(unicode.Latin, r):
				latin++
			case lookAlike(r) != 0:
				alike++
			default:
				foreign++
			}
		}
		if latin > 0 && alike > 0 && latin+alike > 3 && foreign == 0 {
			return word
		}
	}
	return ""
}

// unmask replaces letters that look like Latin ones where they stand in one word with Latin ones.
func unmask(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return lookAlike(r) != 0 }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(text)
		}
		if word := text[:end]; strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) {
			word = strings.Map(func(r rune) rune {
				if c := lookAlike(r); c != 0 {
					return c
				}
				return r
			}, word)
			b.WriteString(word)
		} else {
			b.WriteString(word)
		}
		_, size := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[end : end+size])
		text = text[end+size:]
	}
	return b.String()
}

// lookAlike returns the Latin letter that a Cyrillic, Greek or Armenian one is easily taken for, or 0.
func lookAlike(r rune) rune {
	if r < 0x370 || r > 0x587 {
		return 0
	}
	const from, to = "аеорсухіјѕһԁԛԝкмнтвгпАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχոսցհ", "aeopcyxijshdqwkmhtbrnABEKMHOPCTYXIJSABEZHIKMNOPTYXaeiknoptyxnugh"
	i := 0
	for _, c := range from {
		if c == r {
			return rune(to[i])
		}
		i++
	}
	return 0
}
