// Package char tells letters, digits and the bounds of words apart.
package char

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The classes of bytes.
const (
	Other  = iota
	InWord // letters, digits, '_', and everything beyond ASCII
	Mark   // punctuation that personal data can begin at or contain
)

// What is read of words.
const (
	MaxWord   = 48 // bytes of a word of a name or of an address
	MaxBefore = 64 // bytes that are read backwards to find words
)

// Classes are the classes of all bytes.
var Classes = func() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case IsAlnum(b) || b == '_' || b >= utf8.RuneSelf:
			t[c] = InWord
		case strings.IndexByte("@+(-=:>", b) >= 0:
			t[c] = Mark
		}
	}
	return t
}()

// WordBefore reports whether the character before i belongs to a word that continues at i. Scripts that put no space between words do not
// count: a number in Chinese text begins where its digits do.
func WordBefore(s string, i int) bool {
	if i == 0 {
		return false
	}
	if c := s[i-1]; c < utf8.RuneSelf {
		return Classes[c] == InWord && !IsEscape(s, i-1)
	}
	r, _ := utf8.DecodeLastRuneInString(s[max(0, i-utf8.UTFMax):i])
	return IsWordRune(r) && !IsSpaceless(r)
}

// WordAfter reports whether the character at i belongs to a word, by the same rules as WordBefore.
func WordAfter(s string, i int) bool {
	if i >= len(s) {
		return false
	}
	if c := s[i]; c < utf8.RuneSelf {
		return Classes[c] == InWord
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return IsWordRune(r) && !IsSpaceless(r)
}

// IsEscape reports whether the letter at i belongs to an escaped line end or tab, such as \n in JSON text that was
// cut off.
func IsEscape(s string, i int) bool {
	return i > 0 && s[i-1] == '\\' && (s[i] == 'n' || s[i] == 't' || s[i] == 'r')
}

// IsWordRune reports whether a character belongs to words.
func IsWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// IsSpaceless reports whether a letter's script puts no space between words.
func IsSpaceless(r rune) bool {
	return r > 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// IsDigit reports whether a byte is one of 0 to 9.
func IsDigit(c byte) bool { return c-'0' < 10 }

// IsHex reports whether a byte is a hexadecimal digit.
func IsHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }

// IsLetter reports whether a byte is one of A to Z or a to z.
func IsLetter(c byte) bool { return (c|0x20)-'a' < 26 }

// IsUpper reports whether a byte is one of A to Z.
func IsUpper(c byte) bool { return c-'A' < 26 }

// IsAlnum reports whether a byte is a letter or a digit.
func IsAlnum(c byte) bool { return IsDigit(c) || IsLetter(c) }

// Atoi returns the value of a few digits.
func Atoi(digits string) (n int) {
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// IsCapital reports whether a word begins with a capital.
func IsCapital(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

// SpaceAt returns the length of the space between two words at i, or 0.
func SpaceAt(s string, i int) int {
	for _, space := range []string{" ", "\u00a0", "\u3000"} {
		if strings.HasPrefix(s[i:], space) {
			return len(space)
		}
	}
	return 0
}

// IsCapitals reports whether all letters of a word are capitals: MCP.
func IsCapitals(w string) bool { return w == strings.ToUpper(w) && w != strings.ToLower(w) }

// IsIdentifier reports whether a value identifies something: it is a word with digits and no spaces that is long, or has an underscore.
func IsIdentifier(v string) bool {
	if strings.IndexFunc(v, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf }) >= 0 {
		return false
	}
	return strings.IndexByte(v, '_') >= 0 || len(v) >= 12 && strings.ContainsAny(v, "0123456789")
}

// HasAnySuffix reports whether a text ends in one of others.
func HasAnySuffix(s string, ends ...string) bool {
	for _, end := range ends {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}
