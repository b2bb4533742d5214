// Package detect finds personal data and credentials in text. [Find] returns where they are; [Signs.Hint] returns what the name of a JSON
// member means for its value. The package neither stores nor replaces anything.
//
// A match must pass the check of its type: payment cards have Luhn's check digit and an issuer's prefix, account numbers their check
// digits, phone numbers their country's lengths, social security numbers an issued range, e-mail addresses an existing top-level domain,
// keys their vendor's form. Where the characters leave it open, words nearby and member names decide.
//
// Names, companies and postal addresses have no check. They are found by their field ([Signs], because the object around it decides), by
// what is around them in a text (From:, Dear, "my name is", an e-mail address, a street with a number), in tables by the names of columns, and
// wherever a value stands that a field held before (package known).
//
// Find runs in linear time on any text, so each lookahead and lookbehind is bounded.
package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/internet"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/key"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/number"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/postal"
)

// Find returns the matches in text, in order and without overlaps. If text is the value of a member, field is what [Signs.Hint] returns for
// the member's name; otherwise it is empty. Under a hint of [Name], [Company], [Address] and [Phone] the whole value is the
// match, unless it cannot be one or is of another type, such as an e-mail address.
func Find(text string, field Type) []Match {
	f := finder{s: text, field: field}
	if IsWhole(field) {
		if typ := valueType(text, field); typ != "" {
			start := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
			return []Match{{start, start + len(strings.TrimSpace(text)), typ}}
		}
		if field != Phone {
			f.field = ""
		}
	}
	f.scan()
	if cells := Cells(text); cells != nil {
		return Merge(cells, f.matches)
	}
	return f.matches
}

// IsWhole reports whether the match under a hint is the whole value, if the value has the form of its type.
func IsWhole(hint Type) bool {
	switch hint {
	case Name, Company, Address, party, place, postcode, Phone:
		return true
	}
	return false
}

// IsInWord reports whether a part of a text begins or ends within a word.
func IsInWord(text string, start, end int) bool {
	return char.Classes[text[start]] == char.InWord && char.WordBefore(text, start) || char.Classes[text[end-1]] == char.InWord && char.WordAfter(text, end)
}

// Merge returns the matches of two lists, each in order and without overlaps, as one such list. Of matches that overlap it has the one that is
// longer, or the one in the first list.
func Merge(first, second []Match) []Match {
	if len(first) == 0 {
		return second
	}
	merged := make([]Match, 0, len(first)+len(second))
	for len(first) > 0 || len(second) > 0 {
		from := &first
		if len(first) == 0 || len(second) > 0 && second[0].Start < first[0].Start {
			from = &second
		}
		m := (*from)[0]
		*from = (*from)[1:]
		last := len(merged) - 1
		switch {
		case last < 0 || merged[last].End <= m.Start:
			merged = append(merged, m)
		case m.End-m.Start > merged[last].End-merged[last].Start && (last == 0 || merged[last-1].End <= m.Start):
			merged[last] = m
		}
	}
	return merged
}

// scan examines the beginning of each word, and each mark that a match can begin with or contain.
func (f *finder) scan() {
	s := f.s
	for i := 0; i < len(s); {
		class := char.Classes[s[i]]
		if class == char.Other || class == char.InWord && char.IsEscape(s, i) {
			i++
			continue
		}
		var m Match
		wide := hasWideColon(s, i)
		switch {
		case wide:
			m = f.afterLabel(i, len(wideColon))
		case class == char.InWord:
			m = f.wordAt(i)
		default:
			m = f.markAt(i)
		}
		if m.End > 0 {
			f.matches = append(f.matches, m)
			f.from, i = m.End, m.End
			continue
		}
		if wide {
			i += len(wideColon)
			continue
		}
		for i++; class == char.InWord && i < len(s) && char.Classes[s[i]] == char.InWord && !hasWideColon(s, i); i++ {
			if s[i] < utf8.RuneSelf && s[i-1] >= utf8.RuneSelf && !char.WordBefore(s, i) {
				break // a number within Chinese text, for example
			}
		}
	}
}

// wideColon is the colon of Chinese and Japanese text. The bytes of its character count as those of a word.
const wideColon = "："

func hasWideColon(s string, i int) bool {
	return s[i] == wideColon[0] && strings.HasPrefix(s[i:], wideColon)
}

// wordAt returns the match at the word that begins at i.
func (f *finder) wordAt(i int) Match {
	s, c := f.s, f.s[i]
	if char.WordBefore(s, i) {
		return Match{}
	}
	if m := f.nameAfterWord(i); m.End > 0 {
		return m
	}
	if c >= utf8.RuneSelf {
		if c >= 0xe2 && c <= 0xe9 { // CJK, and the mark 〒
			if start, end := postal.FindCJK(s, i); end > 0 {
				return Match{start, end, Address}
			}
		}
		return Match{}
	}
	if char.IsDigit(c) {
		if m := f.number(i); m.End > 0 {
			return m
		}
		if start, end := postal.Find(s, f.from, i); end > 0 {
			return Match{start, end, Address}
		}
	}
	switch c {
	case 'i', 'e', 'w', 't', 'p', 'l':
		if start, end := f.secretAfterWord(i); end > 0 {
			return Match{start, end, Secret}
		}
	case 'h', 'd', 'b':
		if start, end := key.Webhook(s, i); end > 0 {
			return Match{start, end, Key}
		}
	}
	if end := key.AWSSecret(s, f.keyID, i); end > 0 {
		return Match{i, end, Key}
	}
	if char.IsHex(c) {
		if end := internet.IPv6(s, i); end > 0 {
			return Match{i, end, IP}
		}
	}
	if end := key.Vendor(s, i); end > 0 {
		if c == 'A' && end-i == key.AWSIDLength {
			f.keyID = end
		}
		return Match{i, end, Key}
	}
	if end := number.IBAN(s, i); end > 0 {
		return Match{i, end, IBAN}
	}
	if c == 'e' && i >= f.jwtFrom {
		var end int
		if end, f.jwtFrom = key.WebToken(s, i); end > 0 {
			return Match{i, end, Key}
		}
	}
	return Match{}
}

// markAt returns the match that begins at, or contains, the punctuation mark at i.
func (f *finder) markAt(i int) Match {
	s := f.s
	switch s[i] {
	case '@':
		if start, end := key.URLPassword(s, f.from, i); end > 0 {
			return Match{start, end, Key}
		}
		if start, end := internet.Email(s, f.from, i); end > 0 && f.field != messageID && !isLogin(s, start, end) {
			return f.withName(Match{start, end, Email})
		}
	case '+', '(':
		if i+1 < len(s) && char.IsDigit(s[i+1]) && !char.WordBefore(s, i) {
			if end := f.phone(i); end > 0 {
				return Match{i, end, Phone}
			}
		}
	case '=', ':', '>':
		if start, end := f.secretAfterMark(i); end > 0 {
			return Match{start, end, Secret}
		}
		if m := f.afterMember(i); m.End > 0 || s[i] != ':' {
			return m
		}
		return f.afterLabel(i, 1)
	case '-':
		if end := key.Private(s, i); end > 0 {
			return Match{i, end, Key}
		}
		if start, end := f.secretAfterFlag(i); end > 0 {
			return Match{start, end, Secret}
		}
	}
	return Match{}
}
