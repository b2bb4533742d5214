// Package known finds values again that a field held before.
package known

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/key"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/number"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/person"
)

const (
	maxLearned      = 100_000 // values that are learned
	maxLearnedWords = 16      // words of one; in scripts without spaces, letters
	maxLearnedSpace = 4       // bytes between two words
	minExact        = 6       // bytes of an account number
	minSecret       = 8       // bytes of a secret
	maxExact        = 4 << 10
	maxAnchored     = 16 // such values with the same longest word
	bloomWords      = 1 << 12
)

// Values finds values again that a field held before: word for word, whatever is between the words ("Jane Doe", "Jane\nDoe"), and the name of
// a person also as "Doe, Jane". Case does not count if there are several words, unless all are ordinary words or they name a company without
// a legal form such as "Inc.": then each word begins with a capital. A single word counts only as the value has it, with a capital.
//
// A name of one word that is an ordinary word too, such as Mark, is found beside another such name: "Mark Brown". A company with the name of an
// ordinary word, such as Apple, is not learned, nor one whose only word has fewer than five letters. An address is learned only if it has
// several words, and a number.
//
// Values of other types, such as account numbers, are found exactly as they are; secrets, if they have at least eight bytes and mix letters
// with digits or signs.
//
// The zero value is empty and ready to use. Find takes linear time, whatever was learned. Find may run concurrently with Find; Add must run
// alone, so the owner holds a [sync.RWMutex]: Lock for Add, RLock for Find.
type Values struct {
	seed  maphash.Seed
	nodes map[uint64]learnedNode  // by the hash of words: those of values, and those that values begin with
	exact map[uint64][]exactValue // by the hash of their longest word
	bloom []uint64                // hashes of first words; rules out most words of a text
	count int
}

// learnedNode is what is known of a sequence of words.
type learnedNode struct {
	more bool        // a value continues
	typ  detect.Type // not empty: a value ends
	form learnedForm
	text string // the value, if its case counts; otherwise what follows its last word, such as a dot
	lead string // what precedes its first word, such as the plus of a phone number
}

// exactValue is a value that is found as it is.
type exactValue struct {
	typ    detect.Type
	text   string
	before int // bytes before its longest word
}

type learnedForm uint8

const (
	anyCase  learnedForm = iota
	capitals             // each word begins like the value's
	single               // one word, in the case of the value, with a capital, or all in capitals
	weak                 // like single, but an ordinary word
)

// Len returns the number of values.
func (l *Values) Len() int { return l.count }

// Add remembers a value. It reports whether the value will be found: those that stand too often for something else are not learned, nor those
// after the first 100,000, names and addresses of over 16 words, and other values of over 4 KiB.
func (l *Values) Add(typ detect.Type, text string) bool {
	text = strings.TrimSpace(text)
	switch typ {
	case detect.Name, detect.Company, detect.Address, detect.Phone:
	case detect.Secret, detect.Key:
		return isDistinct(text) && l.AddExact(typ, text)
	default:
		return len(text) >= minExact && l.AddExact(typ, text)
	}
	learned := l.add(typ, text)
	if start := person.AfterTitles(text, 0, false); typ == detect.Name && start > 0 { // Dr. Jane Doe
		learned = l.add(typ, text[start:]) || learned
	}
	return learned
}

func (l *Values) init() {
	if l.nodes == nil {
		l.seed, l.nodes, l.exact, l.bloom = maphash.MakeSeed(), map[uint64]learnedNode{}, map[uint64][]exactValue{}, make([]uint64, bloomWords)
	}
}

// AddExact remembers a value whatever it is, even an ordinary word, and reports whether it will be found: as it is, by its longest word that few
// other values have.
func (l *Values) AddExact(typ detect.Type, text string) bool {
	l.init()
	if text == "" || len(text) > maxExact || l.count >= maxLearned {
		return false
	}
	var anchor learnedWord
	for w := l.next(text, 0); w.end > 0; w = l.next(text, w.end) {
		if w.end-w.start > anchor.end-anchor.start && len(l.exact[w.hash]) < maxAnchored {
			anchor = w
		}
	}
	if anchor.end == 0 {
		return false
	}
	v := exactValue{typ, strings.Clone(text), anchor.start}
	if !slices.Contains(l.exact[anchor.hash], v) {
		l.exact[anchor.hash] = append(l.exact[anchor.hash], v)
		l.count++
	}
	return true
}

// isDistinct reports whether a secret hardly stands for something else: it mixes letters with digits or signs, or is random. Many passwords
// are words, and what describes a secret is often written in its place.
func isDistinct(text string) bool {
	const signs = "!?#$%^&*+=~@|<>"
	hasLetter := strings.ContainsFunc(text, unicode.IsLetter)
	return len(text) >= minSecret && hasLetter && strings.ContainsAny(text, "0123456789"+signs) && !strings.ContainsAny(text, " \t\n") || len(text) >= 2*minSecret && key.IsRandom(text)
}

// findExact returns where values are that are found as they are.
func (l *Values) findExact(text string) (matches []detect.Match) {
	if len(l.exact) == 0 {
		return nil
	}
	free := 0
	for at := 0; ; {
		w := l.next(text, at)
		if w.end == 0 {
			return matches
		}
		at = w.end
		if m := l.matchExact(text, free, w); m.End > 0 {
			matches = append(matches, m)
			free = m.End
			at = max(at, free)
		}
	}
}

// matchExact returns the longest value that has w as its longest word. It begins after free.
func (l *Values) matchExact(text string, free int, w learnedWord) (m detect.Match) {
	for _, v := range l.exact[w.hash] {
		start := w.start - v.before
		end := start + len(v.text)
		if start < free || len(v.text) <= m.End-m.Start || !strings.HasPrefix(text[start:], v.text) {
			continue
		}
		if !detect.IsInWord(text, start, end) {
			m = detect.Match{Start: start, End: end, Type: v.typ}
		}
	}
	return m
}

func (l *Values) add(typ detect.Type, text string) bool {
	l.init()
	var found []learnedWord
	for at := 0; ; {
		w := l.next(text, at)
		if w.end == 0 {
			break
		}
		if len(found) == maxLearnedWords || len(found) > 0 && !isLearnedSpace(text[at:w.start]) {
			return false
		}
		found = append(found, w)
		at = w.end
	}
	form, ok := learnedFormOf(typ, text, found)
	if !ok || l.count >= maxLearned {
		return false
	}
	if l.put(typ, form, text, found) {
		l.count++
	}
	if first, last := strings.IndexAny(text, " ,"), strings.LastIndexAny(text, " ,"); typ == detect.Name && first > 0 {
		for _, at := range []int{first, last} { // García López, Ana; Whitaker, Jane
			n := slices.IndexFunc(found, func(w learnedWord) bool { return w.start > at })
			l.put(typ, form, text, slices.Concat(found[max(n, 0):], found[:max(n, 0)]))
		}
	}
	return true
}

// put remembers a sequence of words and reports whether it is new.
func (l *Values) put(typ detect.Type, form learnedForm, text string, sequence []learnedWord) bool {
	first := sequence[0]
	l.bloom[first.hash>>6%bloomWords] |= 1 << (first.hash & 63)
	var hash uint64
	for i, w := range sequence {
		hash = chain(hash, w.hash)
		node := l.nodes[hash]
		if i < len(sequence)-1 {
			node.more = true
			l.nodes[hash] = node
			continue
		}
		if node.typ != "" {
			return false
		}
		node.typ, node.form, node.text = typ, form, strings.Clone(text)
		if form == anyCase {
			node.text = strings.Clone(text[w.end:])
			if first.start <= w.start {
				node.lead = strings.Clone(text[:first.start])
			}
		}
		l.nodes[hash] = node
	}
	return true
}

// learnedFormOf returns how a value is found, or that it is not learned.
func learnedFormOf(typ detect.Type, text string, found []learnedWord) (form learnedForm, ok bool) {
	if len(found) == 0 {
		return 0, false
	}
	common, letters := true, 0
	for _, w := range found {
		part := text[w.start:w.end]
		common = common && (lexicon.IsOrdinary(part) || len(part) <= 2)
		letters += utf8.RuneCountInString(part)
	}
	first, _ := utf8.DecodeRuneInString(text[found[0].start:])
	spaceless := standsAlone(first)
	switch typ {
	case detect.Name:
		switch {
		case spaceless:
			return anyCase, len(found) >= 2 && letters <= 12
		case strings.ContainsAny(text, "0123456789") || len(found) > person.MaxNameWords+2:
			return 0, false
		case len(found) > 1 && common:
			return capitals, true
		case len(found) > 1:
			return anyCase, true
		case letters < 2 || unicode.IsLower(first) || lexicon.IsNoName(text):
			return 0, false
		case letters < 3 || common:
			return weak, true
		}
		return single, true
	case detect.Company:
		switch {
		case spaceless:
			return anyCase, len(found) >= 4 || person.HasLegalForm(text)
		case len(found) > 1 && person.HasLegalForm(text):
			return anyCase, letters > 4
		case len(found) > 1:
			return capitals, letters > 4
		}
		return single, letters > 4 && !common && !unicode.IsLower(first) && !char.IsIdentifier(text)
	case detect.Phone:
		return anyCase, letters >= number.MinPhone && (len(found) > 1 || letters >= 10)
	case detect.Address:
		return anyCase, (len(found) > 1 || spaceless) && letters >= 6 && (strings.ContainsAny(text, "0123456789") || len(found) > 3)
	}
	return 0, false
}

// Find returns where learned values are in text, in order and without overlaps.
func (l *Values) Find(text string) []detect.Match {
	if l.count == 0 {
		return nil
	}
	return detect.Merge(l.findExact(text), l.findNames(text))
}

// findNames returns where names, companies, addresses and phone numbers are.
func (l *Values) findNames(text string) (matches []detect.Match) {
	free := 0 // end of the last match
	last := 0 // end of the last single word that is a value; an ordinary word counts beside it
	var pending detect.Match
	for at := 0; ; {
		w := l.next(text, at)
		if w.end == 0 {
			return matches
		}
		at = w.end
		if l.bloom[w.hash>>6%bloomWords]&(1<<(w.hash&63)) == 0 {
			continue
		}
		m, form := l.match(text, free, w)
		if m.End == 0 {
			continue
		}
		at, free = m.End, m.End
		beside := last > 0 && isBeside(text[last:m.Start])
		if form == weak {
			last = m.End
			if !beside {
				pending = m
				continue
			}
		}
		if beside && pending.End > 0 && pending.End == lastBefore(text, m.Start) {
			matches = append(matches, pending)
		}
		pending = detect.Match{}
		last = 0
		if form == single || form == weak {
			last = m.End
		}
		matches = append(matches, m)
	}
}

// lastBefore returns the end of what precedes the space or comma before i.
func lastBefore(text string, i int) int { return len(strings.TrimRight(text[:i], " ,")) }

// isBeside reports whether nothing but a space, or a comma and a space, separates two names.
func isBeside(between string) bool { return between == " " || between == ", " || between == "\u00a0" }

// match returns the longest value that begins with a word. It begins where no other does, after free.
func (l *Values) match(text string, free int, first learnedWord) (m detect.Match, form learnedForm) {
	hash := uint64(0)
	for n, w := 0, first; n < maxLearnedWords; n++ {
		prefix := hash
		hash = chain(prefix, w.hash)
		node := l.nodes[hash]
		end := w.end
		if node.typ == "" && !node.more && n > 0 && text[w.end-1] == 's' && w.end-w.start > 3 { // the genitive of some languages
			end--
			node = l.nodes[chain(prefix, l.next(text[:end], w.start).hash)]
		}
		if node.typ != "" && node.fits(text[first.start:end]) {
			m, form = detect.Match{Start: first.start, End: end, Type: node.typ}, node.form
			if form == anyCase && strings.HasPrefix(text[end:], node.text) {
				m.End += len(node.text)
			}
			m.Start -= len(node.lead)
			if !strings.HasSuffix(text[free:first.start], node.lead) {
				m.Start = first.start
			}
		}
		if !node.more || end != w.end {
			break
		}
		next := l.next(text, w.end)
		if next.end == 0 || !isLearnedSpace(text[w.end:next.start]) {
			break
		}
		w = next
	}
	return m, form
}

// fits reports whether the case of a text is that of a value.
func (n *learnedNode) fits(text string) bool {
	switch n.form {
	case anyCase:
		return true
	case capitals:
		return hasCapitals(text)
	}
	r, size := utf8.DecodeRuneInString(text)
	if unicode.IsLower(r) {
		return false
	}
	return text == n.text || n.typ == detect.Name && (strings.ToUpper(text) == text || strings.ToLower(text[size:]) == text[size:])
}

// hasCapitals reports whether each word of a text begins with a capital, except particles of names.
func hasCapitals(text string) bool {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !char.IsWordRune(r) }) {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsLower(r) && !lexicon.Words()["particle"][w] {
			return false
		}
	}
	return true
}

// isLearnedSpace reports whether two words may belong to one value if a text is between them.
func isLearnedSpace(between string) bool {
	if len(between) > maxLearnedSpace {
		return false
	}
	for _, r := range between {
		if !strings.ContainsRune(" .,'’-–&/()#\n\r\t\u00a0\u3000·・:;", r) {
			return false
		}
	}
	return strings.Count(between, "\n") < 2
}

// learnedWord is a word of a text: letters and digits, or one letter of a script that puts no space between words, or particles after a name.
type learnedWord struct {
	start, end int
	hash       uint64 // without case
}

// next returns the first word at or after i, or the zero value. Words of over 64 bytes have their own hash only in part.
func (l *Values) next(s string, i int) learnedWord {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if char.Classes[c] == char.InWord && !char.IsEscape(s, i) {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if char.IsWordRune(r) {
			break
		}
		i += size
	}
	if i >= len(s) {
		return learnedWord{}
	}
	w := learnedWord{start: i}
	var array [64]byte
	buf := array[:0]
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if char.Classes[c] != char.InWord {
				break
			}
			if char.IsUpper(c) {
				c |= 0x20
			}
			if len(buf) < len(array) {
				buf = append(buf, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !char.IsWordRune(r) {
			break
		}
		alone := standsAlone(r)
		if alone && i > w.start {
			break
		}
		if len(buf)+utf8.UTFMax <= len(array) {
			buf = utf8.AppendRune(buf, foldRune(r))
		}
		i += size
		if alone {
			break
		}
	}
	w.end, w.hash = i, maphash.Bytes(l.seed, buf)
	return w
}

// foldRune returns a letter without case, and without the two forms that some letters have.
func foldRune(r rune) rune {
	switch r {
	case 'ı', 'İ':
		return 'i'
	case 'ς':
		return 'σ'
	}
	return unicode.ToLower(r)
}

// standsAlone reports whether a letter is a word of its own: its script puts no space between words, or particles directly after a name.
func standsAlone(r rune) bool { return char.IsSpaceless(r) || r >= 0xac00 && r <= 0xd7a3 }

// chain returns the hash of a sequence of words.
func chain(hash, word uint64) uint64 {
	hash = (hash ^ word) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}
