package search

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a word, in bytes. Anything longer is not a word but data.
const maxWord = 64

// words splits text into words in lower case, without accents. It splits at every character that is neither letter nor digit, where a name
// goes from lower to upper case (getDocument), and before the last capital of an abbreviation (HTTPServer). For scripts without spaces
// between words it returns pairs of characters instead.
func words(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if s := strings.ToLower(string(word)); len(s) > 0 && len(s) <= maxWord {
			out = append(out, s)
		}
		word = word[:0]
	}
	var dense []rune // a run of characters of a script without spaces
	flushDense := func() {
		if len(dense) == 1 {
			out = append(out, string(dense))
		}
		for i := range max(0, len(dense)-1) {
			out = append(out, string(dense[i:i+2]))
		}
		dense = dense[:0]
	}
	runes := []rune(norm.NFKD.String(strings.ToValidUTF8(text, " ")))
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Mn, r): // an accent neither counts nor separates
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			flush()
			dense = append(dense, r)
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			flushDense()
			if len(word) > 0 && beginsWord(word[len(word)-1], r, runes, i) {
				flush()
			}
			word = append(word, r)
		case (r == '\'' || r == '’') && i+1 < len(runes) && unicode.IsLetter(runes[i+1]) && len(word) > 0:
			// what's, don't: one word
		default:
			flush()
			flushDense()
		}
	}
	flush()
	flushDense()
	return out
}

// beginsWord reports whether a word begins at runes[i], which is r, although there is no separator before it.
func beginsWord(before, r rune, runes []rune, i int) bool {
	if !unicode.IsUpper(r) {
		return false
	}
	if !unicode.IsUpper(before) {
		return true
	}
	if i+1 == len(runes) || !unicode.IsLower(runes[i+1]) {
		return false
	}
	// The s in PRs and URLs is the plural of an abbreviation.
	return runes[i+1] != 's' || i+2 < len(runes) && unicode.IsLower(runes[i+2])
}
