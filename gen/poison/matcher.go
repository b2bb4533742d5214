package poison

import (
	"regexp"
	"slices"
	"strings"
)

// pattern is the source of a rule: words for [compile], or a regular expression over the plain text. If plain is set, words lists markers,
// and every match contains at least one of them.
type pattern struct{ id, words, plain string }

// rule is a compiled pattern. Either words or plain is set.
type rule struct {
	id string
	// words matches a sentence that has all bits of need.
	words *regexp.Regexp
	need  bitset
	// plain matches a plain text that contains one of markers.
	plain   *regexp.Regexp
	markers []string
}

// match returns the part of a text that matches the rule, or "".
func (r *rule) match(n *normalized) string {
	if r.words != nil {
		if !n.bits.contains(&r.need) {
			return ""
		}
		for i := range n.sentences {
			if s := &n.sentences[i]; s.bits.contains(&r.need) {
				if excerpt := r.find(r.words, s.text); excerpt != "" {
					return excerpt
				}
			}
		}
		return ""
	}
	for _, marker := range r.markers {
		if strings.Contains(n.plain, marker) {
			return r.find(r.plain, n.plain)
		}
	}
	return ""
}

// negated matches the end of a text that negates the instruction after it, as in "do not include" and "never ever send". It does not match
// "do not forget to send", which is an instruction.
var negated = regexp.MustCompile(`(?:\bnot|\bnever|n't|\bdon t|\bdont|\bwithout|\bavoid|\bcannot)(?: [^ ]+)? ?$`)

// find returns the first match that is not negated, or "".
func (r *rule) find(expression *regexp.Regexp, text string) string {
	for _, at := range expression.FindAllStringIndex(text, 10) {
		if r.id == conceal || !negated.MatchString(text[max(0, at[0]-60):at[0]]) {
			return text[at[0]:at[1]]
		}
	}
	return ""
}

// matcher holds the compiled rules and, for each word, the sets that contain it.
type matcher struct {
	rules []rule
	sets  map[string]bitset
}

// compile builds a matcher. A pattern over words is a sequence of
//
//	{name}   one of the words of a set
//	word|w2  one of these words
//	~n       up to n words of the same sentence
//
// A period means the end of a sentence.
func compile(sets map[string]string, patterns []pattern) *matcher {
	m := &matcher{sets: map[string]bitset{}}
	bits := map[string]bitset{} // by alternatives
	for _, p := range patterns {
		if p.plain != "" {
			m.rules = append(m.rules, rule{id: p.id, plain: regexp.MustCompile(p.plain), markers: strings.Fields(p.words)})
			continue
		}
		r := rule{id: p.id}
		var b strings.Builder
		for _, element := range strings.Fields(p.words) {
			if most, ok := strings.CutPrefix(element, "~"); ok {
				b.WriteString(`(?: [^ .]+){0,` + most + `}`)
				continue
			}
			var alternatives []string
			for _, part := range strings.Split(element, "|") {
				if name, ok := strings.CutPrefix(part, "{"); ok {
					alternatives = append(alternatives, strings.Fields(sets[strings.TrimSuffix(name, "}")])...)
				} else {
					alternatives = append(alternatives, part)
				}
			}
			if len(alternatives) == 0 {
				panic("no words for " + element)
			}
			words := strings.ReplaceAll(strings.Join(alternatives, "|"), "_", " ")
			b.WriteString(` (?:` + strings.ReplaceAll(words, ".", `\.`) + `)`)
			if slices.Contains(alternatives, ".") {
				continue // every sentence has an end
			}
			if _, ok := bits[words]; !ok {
				bits[words] = bit(len(bits)) // if there are too many sets, this panics in every test
				for _, alternative := range strings.Split(words, "|") {
					first, _, _ := strings.Cut(alternative, " ")
					set := m.sets[first]
					set.add(bits[words])
					m.sets[first] = set
				}
			}
			r.need.add(bits[words])
		}
		r.words = regexp.MustCompile(b.String() + " ")
		m.rules = append(m.rules, r)
	}
	return m
}
