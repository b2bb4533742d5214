// Package person reads the names of people and organizations.
package person

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

// MaxNameWords bounds the words of a person's name, without particles such as "van".
const MaxNameWords = 5

const maxCaseless = 3 // words in a script without capitals

// Name returns the end of the name of a person that begins at i, and the number of its words, or 0. Each word has a capital, except
// particles; in scripts without capitals, a few words count. Words that name departments and programs end it.
func Name(s string, i int) (end, n int) {
	caseless := 0
	for at := i; n < MaxNameWords; {
		w := nameWord(s, at)
		if w == 0 {
			break
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		text := s[at : at+w]
		switch {
		case char.IsSpaceless(r) || unicode.Is(unicode.Hangul, r):
			if runes := utf8.RuneCountInString(text); n > 0 && end == at || runes > 8 || runes < 2 && n == 0 {
				return end, n
			}
			n++ // a script without spaces has the whole name in one word
			if char.IsSpaceless(r) || utf8.RuneCountInString(text) > 2 {
				n++
			}
			end = at + w
		case unicode.IsUpper(r):
			if lexicon.IsNoName(text) || n > 0 && lexicon.Words()["title"][strings.ToLower(text)] {
				return end, n
			}
			end, n = at+w, n+1
			if (w == size || w == size+1 && text[size] == '.' || strings.EqualFold(text, "jr") || strings.EqualFold(text, "sr")) && end < len(s) && s[end] == '.' {
				end++ // an initial
			}
		case unicode.IsLower(r):
			if !lexicon.Words()["particle"][text] {
				return end, n
			}
		default:
			if caseless++; caseless > maxCaseless || lexicon.IsNoName(text) {
				return end, n
			}
			end, n = at+w, n+1
		}
		at += w
		if at < len(s) && s[at] == '.' && end == at+1 {
			at++
		}
		space := char.SpaceAt(s, at)
		if space == 0 {
			break
		}
		at += space
	}
	return end, n
}

// nameWord returns the length of the word at i if it may be part of a name: letters, with hyphens and apostrophes within. It is 0 if the word
// goes on like code.
func nameWord(s string, i int) int {
	at := i
	for at < len(s) && at-i <= char.MaxWord {
		if c := s[at]; c < utf8.RuneSelf {
			if !char.IsLetter(c) && !(at > i && (c == '-' || c == '\'') && at+1 < len(s) && (char.IsLetter(s[at+1]) || s[at+1] >= utf8.RuneSelf)) {
				break
			}
			if at > i && char.IsUpper(c) && !char.IsUpper(s[at-1]) && s[at-1] < utf8.RuneSelf && char.IsLetter(s[at-1]) && at-i > 3 { // camelCase, unlike McDonald
				return 0
			}
			if c == '\'' && s[at+1] == 's' && !char.WordAfter(s, at+2) { // a genitive
				break
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		if !(unicode.IsLetter(r) || unicode.IsMark(r) || at > i && (r == '’' || r == '・' || r == '·')) || r == utf8.RuneError {
			break
		}
		at += size
	}
	if at == i || at-i > char.MaxWord {
		return 0
	}
	if at < len(s) && (char.IsDigit(s[at]) || strings.IndexByte("_(/\\[{=", s[at]) >= 0 || s[at] == '.' && at+1 < len(s) && char.WordAfter(s, at+1) && at-i > 1) {
		return 0
	}
	return at - i
}

// AfterTitles returns the position after the titles at i and the space behind them.
func AfterTitles(s string, i int, greets bool) int {
	for range 4 {
		w := nameWordOf(s, i)
		lower := strings.ToLower(strings.TrimSuffix(w, "."))
		if w == "" || !(lexicon.Words()["title"][lower] || lexicon.Words()["title-dot"][lower] || greets && (lexicon.Words()["title-greeting"][lower] || lexicon.Words()["greeting-filler"][lower])) {
			return i
		}
		at := i + len(w)
		space := char.SpaceAt(s, at)
		if space == 0 {
			return i
		}
		i = at + space
	}
	return i
}

// nameWordOf returns the word at i with the dot after it, if there is one.
func nameWordOf(s string, i int) string {
	n := nameWord(s, i)
	if n > 0 && i+n < len(s) && s[i+n] == '.' {
		n++
	}
	return s[i : i+n]
}

// Agrees reports whether a word of a name is part of the local part of an e-mail address.
func Agrees(name, local string) bool {
	for w := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r >= utf8.RuneSelf || !char.IsLetter(byte(r)) }) {
		if len(w) >= 3 && strings.Contains(local, w) {
			return true
		}
	}
	return false
}

// HasLegalForm reports whether a name of at least two words begins or ends with what marks an organization: Acme Inc.
func HasLegalForm(v string) bool {
	for form := range lexicon.Words()["legal-form"] {
		if v[0] < utf8.RuneSelf && v[len(v)-1] < utf8.RuneSelf {
			break
		}
		if form[0] >= utf8.RuneSelf && len(v) > len(form) && (strings.HasSuffix(v, form) || strings.HasPrefix(v, form)) {
			return true
		}
	}
	at := strings.LastIndexAny(v, " ,") + 1
	return at > 1 && lexicon.Words()["legal-form"][strings.ToLower(v[at:])]
}

// IsName reports whether a value has the form of a person's whole name.
func IsName(v string) bool {
	if family, given, ok := strings.Cut(v, ", "); ok { // Doe, Jane
		v = given + " " + family
	}
	end, n := Name(v, 0)
	return end == len(v) && n >= 2
}
