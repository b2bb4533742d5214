// Package detect finds personal data and credentials in text. [Find] returns where they are; [FieldHint] returns what the name of a JSON
// member means for its value. The package neither stores nor replaces anything.
//
// A match must pass the check of its type: payment cards have Luhn's check digit and an issuer's prefix, account numbers their check
// digits, phone numbers their country's lengths, social security numbers an issued range, e-mail addresses an existing top-level domain,
// keys their vendor's form. Where the characters leave it open, words nearby and member names decide.
//
// Find runs in linear time on any text, so each lookahead and lookbehind is bounded.
package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Type is a kind of personal data.
type Type string

const (
	Email  Type = "EMAIL"
	Phone  Type = "PHONE"
	SSN    Type = "SSN"     // social security number (United States)
	Card   Type = "CARD"    // payment card number
	IBAN   Type = "IBAN"    // bank account number
	IP     Type = "IP"      // IPv4 or IPv6 address, except loopback, unspecified and reserved ones
	Key    Type = "API_KEY" // credential in its vendor's form, private key, token, password in a URL
	Secret Type = "SECRET"  // value under, or assigned to, a name such as "password"
)

// Types returns all types, ordered by name.
func Types() []Type { return []Type{Key, Card, Email, IBAN, IP, Phone, Secret, SSN} }

// Match is one piece of personal data.
type Match struct {
	Start, End int // byte offsets in the text, End exclusive
	Type       Type
}

// Find returns the matches in text, in order and without overlaps. If text is the value of a member, field is what [FieldHint] returns for
// the member's name; otherwise it is empty.
func Find(text string, field Type) []Match {
	f := finder{s: text, field: field}
	f.scan()
	return f.matches
}

// finder scans one text.
type finder struct {
	s       string
	field   Type
	matches []Match

	from    int // end of the last match; nothing before it is examined again
	jwtFrom int // no JSON web token begins before this offset
	keyID   int // end of the last AWS key id, which is often followed by its secret
}

// scan examines the beginning of each word, and each mark that a match can begin with or contain.
func (f *finder) scan() {
	s := f.s
	for i := 0; i < len(s); {
		class := classes[s[i]]
		if class == other || class == word && isEscape(s, i) {
			i++
			continue
		}
		var m Match
		if class == word {
			m = f.wordAt(i)
		} else {
			m = f.markAt(i)
		}
		if m.End > 0 {
			f.matches = append(f.matches, m)
			f.from, i = m.End, m.End
			continue
		}
		for i++; class == word && i < len(s) && classes[s[i]] == word; i++ {
			if s[i] < utf8.RuneSelf && s[i-1] >= utf8.RuneSelf && !wordBefore(s, i) {
				break // a number within Chinese text, for example
			}
		}
	}
}

// wordAt returns the match at the word that begins at i.
func (f *finder) wordAt(i int) Match {
	s, c := f.s, f.s[i]
	if c >= utf8.RuneSelf || wordBefore(s, i) {
		return Match{}
	}
	if isDigit(c) {
		if m := f.number(i); m.End > 0 {
			return m
		}
	}
	switch c {
	case 'i', 'e', 'w', 't', 'p', 'l':
		if start, end := f.secretAfterWord(i); end > 0 {
			return Match{start, end, Secret}
		}
	case 'h', 'd', 'b':
		if start, end := webhook(s, i); end > 0 {
			return Match{start, end, Key}
		}
	}
	if end := f.awsSecret(i); end > 0 {
		return Match{i, end, Key}
	}
	if isHex(c) {
		if end := ipv6(s, i); end > 0 {
			return Match{i, end, IP}
		}
	}
	if end := vendorKey(s, i); end > 0 {
		if c == 'A' && end-i == awsKeyIDLen {
			f.keyID = end
		}
		return Match{i, end, Key}
	}
	if end := iban(s, i); end > 0 {
		return Match{i, end, IBAN}
	}
	if c == 'e' && i >= f.jwtFrom {
		var end int
		if end, f.jwtFrom = webToken(s, i); end > 0 {
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
		if start, end := urlPassword(s, f.from, i); end > 0 {
			return Match{start, end, Key}
		}
		if start, end := email(s, f.from, i); end > 0 && f.field != messageID && !isLogin(s, start, end) {
			return Match{start, end, Email}
		}
	case '+', '(':
		if i+1 < len(s) && isDigit(s[i+1]) && !wordBefore(s, i) {
			if end := f.phone(i); end > 0 {
				return Match{i, end, Phone}
			}
		}
	case '=', ':', '>':
		if start, end := f.secretAfterMark(i); end > 0 {
			return Match{start, end, Secret}
		}
	case '-':
		if end := privateKey(s, i); end > 0 {
			return Match{i, end, Key}
		}
		if start, end := f.secretAfterFlag(i); end > 0 {
			return Match{start, end, Secret}
		}
	}
	return Match{}
}

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

// isEscape reports whether the letter at i belongs to an escaped line end or tab such as
// , as in JSON text that was cut off.
func isEscape(s string, i int) bool {
	return i > 0 && s[i-1] == '\\' && (s[i] == 'n' || s[i] == 't' || s[i] == 'r')
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// isSpaceless reports whether a letter's script puts no space between words.
func isSpaceless(r rune) bool {
	return r > 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isDigit(c byte) bool  { return c-'0' < 10 }
func isHex(c byte) bool    { return c-'0' < 10 || (c|0x20)-'a' < 6 }
func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }
func isUpper(c byte) bool  { return c-'A' < 26 }
func isAlnum(c byte) bool  { return isDigit(c) || isLetter(c) }

// atoi returns the value of a few digits.
func atoi(digits string) (n int) {
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
