package poison

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// normalize returns the forms of text for m. With isName it separates the words of camelCase.
func normalize(m *matcher, text string, isName bool) *normalized {
	if isName {
		text = splitCase(text)
	}
	plain := text
	if !ascii(text) {
		plain = unmask(strings.Map(dropInvisible, norm.NFKC.String(strings.ToValidUTF8(text, " "))))
	}
	n := &normalized{plain: strings.ToLower(plain)}
	n.split(m)
	return n
}

// ascii reports whether s has only ASCII characters.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// dropInvisible is a mapping for [strings.Map] that removes invisible and control characters.
func dropInvisible(r rune) rune {
	if ident.Unseen(r) && r != '\n' && r != '\t' && r != '\r' {
		return -1
	}
	return r
}

// splitCase inserts a space where a name changes from lower to upper case.
func splitCase(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// split splits plain into sentences. It joins single letters that are separated by one character each, because a reader sees a word in
// them.
func (n *normalized) split(m *matcher) {
	w := &splitter{n: n, sets: m.sets}
	w.b.Grow(len(n.plain) + 8)
	w.b.WriteByte(' ')
	plain, start := n.plain, -1
	for i := 0; i <= len(plain); {
		r, size := rune(' '), 1
		if i < len(plain) {
			if r = rune(plain[i]); r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(plain[i:])
			}
		}
		if isWord(r) {
			if start < 0 {
				start = i
			}
			i += size
			continue
		}
		if start >= 0 {
			w.word(plain[start:i])
			start = -1
		}
		i += size
		if endsSentence(r, plain, i) {
			w.end()
		}
	}
	w.end()
}

// splitter builds sentences from words.
type splitter struct {
	n       *normalized
	sets    map[string]bitset // by word
	b       strings.Builder   // all sentences
	start   int               // where the current sentence starts in b
	bits    bitset            // of the current sentence
	spelled string            // pending single letters
}

// word adds a word, or holds back a single letter.
func (w *splitter) word(word string) {
	const longest = 64
	if len(word) == 1 && word[0] >= 'a' && len(w.spelled) < longest {
		w.spelled += word
		return
	}
	w.flush()
	w.put(word)
}

// put writes a word.
func (w *splitter) put(word string) {
	if set, ok := w.sets[word]; ok {
		w.bits.add(set)
	}
	w.b.WriteString(word)
	w.b.WriteByte(' ')
}

// flush writes the pending single letters, as one word if there are more than three.
func (w *splitter) flush() {
	if len(w.spelled) > 3 {
		w.put(w.spelled)
	} else {
		for i := range len(w.spelled) {
			w.put(w.spelled[i : i+1])
		}
	}
	w.spelled = ""
}

// end ends the sentence. Its final space is also the first of the next sentence.
func (w *splitter) end() {
	w.flush()
	if w.b.Len() > w.start+1 {
		w.b.WriteString(". ")
		end := w.b.Len()
		w.n.sentences = append(w.n.sentences, sentence{w.b.String()[w.start:end], w.bits})
		w.n.bits.add(w.bits)
		w.start, w.bits = end-1, bitset{}
	}
}

// isWord reports whether r, in lower case, may be part of a word.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// endsSentence reports whether r, the character before plain[next], ends a sentence. A line break does only if another follows.
func endsSentence(r rune, plain string, next int) bool {
	switch r {
	case '.', '!', '?', ';', ':':
		return next >= len(plain) || plain[next] <= ' '
	case '\n':
		return next < len(plain) && plain[next] == '\n'
	case '。', '！', '？', '；':
		return true
	}
	return false
}

// quote returns an excerpt in quotation marks, cut to 80 characters. If it has invisible characters, all characters outside ASCII are
// escaped.
func quote(s string) string {
	const longest = 80 // characters
	short := []rune(strings.TrimSpace(s[:min(len(s), 4*longest)]))
	if len(short) > longest {
		short = append(short[:longest], '…')
	}
	if strings.ContainsFunc(string(short), ident.Invisible) {
		return strconv.QuoteToASCII(string(short))
	}
	return strconv.Quote(string(short))
}

// unmask replaces letters that look like Latin letters in words that also contain Latin letters.
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
		word := text[:end]
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) {
			word = strings.Map(func(r rune) rune {
				if c := lookAlike(r); c != 0 {
					return c
				}
				return r
			}, word)
		}
		b.WriteString(word)
		_, size := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[end : end+size])
		text = text[end+size:]
	}
	return b.String()
}

// lookAlike returns the Latin letter that a Cyrillic, Greek or Armenian letter looks like, or 0.
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
