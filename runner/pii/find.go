package pii

import "strings"

// finder goes once over a text.
type finder struct {
	s       string
	hint    Type // what the name of the member says whose value this is
	secrets *literals
	out     []Match
	from    int // where the last match ended: nothing before is looked at again
	noToken int // no web token begins before here
}

// scan looks at the beginning of every word, and at the few other characters where a find can begin or lie.
func (f *finder) scan() {
	s := f.s
	for i := 0; i < len(s); {
		end, typ := 0, Type("")
		switch classes[s[i]] {
		case classWord:
			if end, typ = f.word(i); end == 0 {
				for i++; i < len(s) && classes[s[i]] == classWord; i++ {
				}
				continue
			}
		case classMark:
			var start int
			if start, end, typ = f.mark(i); end > 0 {
				f.add(start, end, typ)
				i = end
				continue
			}
			i++
			continue
		default:
			i++
			continue
		}
		f.add(i, end, typ)
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
func (f *finder) word(i int) (end int, typ Type) {
	c := f.s[i]
	if i > 0 && classes[f.s[i-1]] == classWord {
		return 0, "" // after a find, the rest of its word
	}
	if isDigit(c) {
		if end, typ = f.number(i); end > 0 {
			return end, typ
		}
	}
	if isHex(c) {
		if end = ipv6(f.s, i); end > 0 {
			return end, IP
		}
	}
	if end = keyAt(f.s, i); end > 0 {
		return end, Key
	}
	if isUpper(c) {
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
		if start, end = email(s, f.from, i); end > 0 {
			return start, end, Email
		}
	case '+', '(':
		if i+1 < len(s) && isDigit(s[i+1]) && (i == 0 || classes[s[i-1]] != classWord) {
			if end = phone(s, i, f.hint); end > 0 {
				return i, end, Phone
			}
		}
	case '=':
		if start, end = assigned(s, f.from, i); end > 0 {
			return start, end, Secret
		}
	case '-':
		if end = privateKey(s, i); end > 0 {
			return i, end, Key
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
		case strings.IndexByte("@+(-=", b) >= 0:
			t[c] = classMark
		}
	}
	return t
}()

func isDigit(c byte) bool { return c-'0' < 10 }

func isHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
