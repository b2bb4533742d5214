package poison

import (
	"fmt"
	"regexp"
	"strings"
)

// gates are sets of words, one bit each, that a sentence holds a word of. A rule is only tried on sentences that hold
// a word of every set that it can't match without: looking words up costs a fraction of matching.
type gates [6]uint64

func (g *gates) add(o gates) {
	for i := range g {
		g[i] |= o[i]
	}
}

// open reports whether g has all of need.
func (g *gates) open(need *gates) bool {
	for i := range g {
		if g[i]&need[i] != need[i] {
			return false
		}
	}
	return true
}

// gate is the n-th set.
func gate(n int) gates {
	var g gates
	g[n/64] = 1 << (n % 64)
	return g
}

// rule is an expression over one form of a text.
type rule struct {
	id   string
	need gates
	// words is the expression over the words, plain that over the plain text, where marks is found; one is nil.
	words, plain *regexp.Regexp
	marks        []string
}

// match returns the part of a text that the rule is about, "" where it isn't.
func (r *rule) match(n *normal) string {
	if r.words != nil {
		if !n.has.open(&r.need) {
			return ""
		}
		for i := range n.sentences {
			if s := &n.sentences[i]; s.has.open(&r.need) {
				if at := r.words.FindString(s.text); at != "" {
					return at
				}
			}
		}
		return ""
	}
	for _, mark := range r.marks {
		if strings.Contains(n.plain, mark) {
			return r.plain.FindString(n.plain)
		}
	}
	return ""
}

// matcher are the compiled rules, and the words that open their gates.
type matcher struct {
	rules []rule
	// longBlank is text that was pushed out of sight: a long run of blanks, or many empty lines, before more text.
	// longRun is a word that is too long to be one.
	longBlank, longRun *regexp.Regexp
	gates              map[string]gates
}

// What the matcher's longBlank and longRun need at least.
const (
	minBlanks = 60
	minLines  = 15
	minRun    = 100
)

// compile builds the matcher. A pattern over words is a sequence of
//
//	{name}   one of the alternatives of a set
//	word|w2  one of these words
//	~n       up to n words of the same sentence
//
// and an element that ends in ? may be missing.
func compile(sets map[string]string, patterns []pattern) *matcher {
	m := &matcher{
		gates:     map[string]gates{},
		longBlank: regexp.MustCompile(fmt.Sprintf(`(?:[ \t\x{00a0}\x{2000}-\x{200a}\x{2800}\x{3000}]{%d}|(?:[ \t]*\r?\n){%d})\s*[^\s|│+*/#-][^\n]{0,60}`, minBlanks, minLines)),
		longRun:   regexp.MustCompile(fmt.Sprintf(`[A-Za-z0-9+/_=-]{%d,}`, minRun)),
	}
	bits := map[string]gates{}
	for _, p := range patterns {
		if p.plain != "" {
			m.rules = append(m.rules, rule{id: p.id, plain: regexp.MustCompile(p.plain), marks: strings.Fields(p.words)})
			continue
		}
		r := rule{id: p.id}
		var b strings.Builder
		for _, element := range strings.Fields(p.words) {
			if most, ok := strings.CutPrefix(element, "~"); ok {
				b.WriteString(`(?: [^ .]+){0,` + most + `}`)
				continue
			}
			element, optional := strings.CutSuffix(element, "?")
			words := strings.ReplaceAll(element, "_", " ")
			if name, ok := strings.CutPrefix(element, "{"); ok {
				words = strings.Join(strings.Fields(sets[strings.TrimSuffix(name, "}")]), "|")
				words = strings.ReplaceAll(words, "_", " ")
			}
			if words == "" {
				panic("no words for " + element)
			}
			if optional {
				b.WriteString(`(?: (?:` + words + `))?`)
				continue
			}
			b.WriteString(` (?:` + words + `)`)
			if _, ok := bits[words]; !ok {
				bits[words] = gate(len(bits)) // more sets than bits would panic, in every test
				for _, alternative := range strings.Split(words, "|") {
					first, _, _ := strings.Cut(alternative, " ")
					g := m.gates[first]
					g.add(bits[words])
					m.gates[first] = g
				}
			}
			r.need.add(bits[words])
		}
		r.words = regexp.MustCompile(b.String() + " ")
		m.rules = append(m.rules, r)
	}
	return m
}
