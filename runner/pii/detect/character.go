package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	other = iota
	word  // letters, digits, '_', and everything beyond ASCII
	mark  // punctuation that a match can begin at or contain
)

var classes = func() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case isAlnum(b) || b == '_' || b >= utf8.RuneSelf:
			t[c] = word
		case strings.IndexByte("@+(-=:>", b) >= 0:
			t[c] = mark
		}
	}
	return t
}()

// wordBefore reports whether the character before i belongs to a word that continues at i. Scripts that put no space between words do not
// count: a number in Chinese text begins where its digits do.
func wordBefore(s string, i int) bool {
	if i == 0 {
		return false
	}
	if c := s[i-1]; c < utf8.RuneSelf {
		return classes[c] == word && !isEscape(s, i-1)
	}
	r, _ := utf8.DecodeLastRuneInString(s[max(0, i-utf8.UTFMax):i])
	return isWordRune(r) && !isSpaceless(r)
}

// wordAfter reports whether the character at i belongs to a word, by the same rules as wordBefore.
func wordAfter(s string, i int) bool {
	if i >= len(s) {
		return false
	}
	if c := s[i]; c < utf8.RuneSelf {
		return classes[c] == word
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return isWordRune(r) && !isSpaceless(r)
}

// isEscape reports whether the letter at i belongs to an escaped line end or tab, such as \n in JSON text that was
// cut off.
func isEscape(s string, i int) bool {
	return i > 0 && s[i-1] == '\\' && (s[i] == 'n' || s[i] == 't' || s[i] == 'r')
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// isSpaceless reports whether a letter's script puts no space between words.
func isSpaceless(r rune) bool {
	return r > 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isDigit(c byte) bool { return c-'0' < 10 }

func isHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }

func isUpper(c byte) bool { return c-'A' < 26 }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

// atoi returns the value of a few digits.
func atoi(digits string) (n int) {
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
