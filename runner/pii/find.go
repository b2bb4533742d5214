package pii

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// finder goes once over a text.
type finder struct {
	s       string
	hint    Type // what the name of the member says whose value this is
	secrets *literals
	out     []Match
	from    int // where the last match ended: nothing before is looked at again
	noToken int // no web token begins before here
	pair    int // where the last key's name ended that has a secret beside it
	version int // where the last version of a program ended, which is no address of a machine
	formats *[256][]format
}

// scan looks at the beginning of every word, and at the few other characters where a find can begin or lie.
func (f *finder) scan() {
	s := f.s
	f.formats = byFirst()
	for i := 0; i < len(s); {
		start, end, typ := i, 0, Type("")
		switch classes[s[i]] {
		case classWord:
			if isEscape(s, i) {
				i++
				continue
			}
			if start, end, typ = f.word(i); end == 0 {
				for i++; i < len(s) && classes[s[i]] == classWord && !(s[i] < 0x80 && s[i-1] >= 0x80 && !wordBefore(s, i)); i++ {
				}
				continue
			}
		case classMark:
			if start, end, typ = f.mark(i); end == 0 {
				i++
				continue
			}
		default:
			i++
			continue
		}
		f.add(start, end, typ)
		i = end
	}
	if f.secrets != nil {
		f.out = f.secrets.merge(s, f.out)
	}
}

func (f *finder) add(start, end int, typ Type) {
	f.out = append(f.out, Match{start, end, typ})
	f.from = end
}

// word looks at a word's beginning.
func (f *finder) word(i int) (start, end int, typ Type) {
	c := f.s[i]
	if c >= 0x80 || wordBefore(f.s, i) {
		return 0, 0, "" // nothing begins so; or it is the rest of a word, after a find
	}
	if isDigit(c) {
		if end, typ = f.number(i); end > 0 {
			if typ == IP {
				return mapped(f.s, f.from, i), end, typ
			}
			return i, end, typ
		}
	}
	if c == 'i' || c == 'e' || c == 'w' {
		if start, end = spoken(f.s, f.from, i); end > 0 {
			return start, end, Secret
		}
	}
	if c == 'h' || c == 'd' || c == 'b' {
		if start, end = webhook(f.s, i); end > 0 {
			return start, end, Key
		}
	}
	if c == 'p' {
		if start, end = netrc(f.s, f.from, i); end > 0 {
			return start, end, Secret
		}
	}
	if end = f.pairOf(i); end > 0 {
		return i, end, Key
	}
	end, typ = f.name(i)
	return i, end, typ
}

// name looks at the beginning of a word for what need not begin with a digit.
func (f *finder) name(i int) (end int, typ Type) {
	c := f.s[i]
	if isHex(c) {
		if end = ipv6(f.s, i); end > 0 {
			return end, IP
		}
	}
	if end = keyAt(f.s, i, f.formats); end > 0 {
		if c == 'A' && end-i == len("AKIA")+16 {
			f.pair = end
		}
		return end, Key
	}
	if isLetter(c) {
		if end = iban(f.s, i); end > 0 {
			return end, IBAN
		}
	}
	if c == 'e' && i >= f.noToken {
		if end, f.noToken = webToken(f.s, i); end > 0 {
			return end, Key
		}
	}
	return 0, ""
}

// mark looks at a character that is no part of a word.
func (f *finder) mark(i int) (start, end int, typ Type) {
	s := f.s
	switch s[i] {
	case '@':
		if start, end = password(s, f.from, i); end > 0 {
			return start, end, Key
		}
		if start, end = email(s, f.from, i); end > 0 && f.hint != ofMessage && !isLogin(s, start, end) {
			return start, end, Email
		}
	case '+', '(':
		if i+1 < len(s) && isDigit(s[i+1]) && !wordBefore(s, i) {
			if end = phone(s, i); end == 0 && s[i] == '(' && f.hintAt(i) == Phone {
				end = loosePhone(s, i)
			}
			if end > 0 {
				return i, extension(s, end), Phone
			}
		}
	case '=':
		if start, end = assigned(s, f.from, i); end > 0 {
			return start, end, Secret
		}
		if start, end = told(s, f.from, i); end > 0 {
			return start, end, Secret
		}
		if start, end = setting(s, f.from, i); end > 0 {
			return start, end, Secret
		}
	case '>':
		if start, end = element(s, f.from, i); end > 0 {
			return start, end, Secret
		}
	case ':':
		if start, end = told(s, f.from, i); end > 0 {
			return start, end, Secret
		}
	case '-':
		if end = privateKey(s, i); end > 0 {
			return i, end, Key
		}
		if start, end = flag(s, f.from, i); end > 0 {
			return start, end, Secret
		}
	}
	return 0, 0, ""
}

const (
	classOther = iota
	classWord  // letters, digits, '_', and all beyond ASCII
	classMark  // where something can begin, or lie, that is no word
)

var classes = func() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case isAlnum(b) || b == '_' || b >= 0x80:
			t[c] = classWord
		case strings.IndexByte("@+(-=:>", b) >= 0:
			t[c] = classMark
		}
	}
	return t
}()

// wordBefore tells whether a word goes on at i: whether what stands before belongs to one. Scripts that put no space
// between words are none: a number in Chinese text begins where its digits do.
func wordBefore(s string, i int) bool {
	if i == 0 {
		return false
	}
	if c := s[i-1]; c < 0x80 {
		return classes[c] == classWord && !isEscape(s, i-1)
	}
	r, _ := utf8.DecodeLastRuneInString(s[max(0, i-utf8.UTFMax):i])
	return isWord(r) && !spaceless(r)
}

// isEscape tells whether the letter at i is that of a line's end or a tab that is written out, as in JSON that is cut off: \n.
func isEscape(s string, i int) bool {
	return i > 0 && s[i-1] == '\\' && (s[i] == 'n' || s[i] == 't' || s[i] == 'r')
}

// wordAt tells whether a word goes on at i: whether what stands there belongs to one.
func wordAt(s string, i int) bool {
	if i >= len(s) {
		return false
	}
	if c := s[i]; c < 0x80 {
		return classes[c] == classWord
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return isWord(r) && !spaceless(r)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// spaceless tells whether a letter is of a script that puts no space between words.
func spaceless(r rune) bool {
	return r > 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isDigit(c byte) bool { return c-'0' < 10 }

func isHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
