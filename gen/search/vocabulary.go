package search

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// fieldWeights say how much a word in a field counts, and fieldLengths how much less it counts in a long field (w and b of BM25F).
// saturation says how soon repetitions of a word add nothing (k1).
var (
	fieldWeights = [fieldCount]float64{fieldName: 4, fieldTitle: 1.5, fieldGroup: 1.5, fieldLead: 1.5, fieldBody: 0.7, fieldPhrase: 1.5, fieldInput: 0.5}
	fieldLengths = [fieldCount]float64{fieldName: 1, fieldTitle: 1, fieldGroup: 0.4, fieldLead: 0.4, fieldBody: 0.75, fieldPhrase: 0.4, fieldInput: 0.75}
)

const saturation = 1.5

// vocabulary is the inverted index: all terms of a catalog, and how much each says about each tool. It does not change once it is built.
type vocabulary struct {
	ids   map[string]int32
	terms []term
	names [][]int32 // terms of each tool's name, in order
	does  []action  // what each tool does with things
	// spellings are the words in the catalog and in the word list, sorted by text.
	spellings []spelling
}

// term is a stem.
type term struct {
	text     string
	idf      float64 // how well it distinguishes tools
	named    bool    // it is in a tool's name, title or group
	postings []posting
}

// posting is how much a term says about a tool, from 0 to 1.
type posting struct {
	doc   int32
	value float64
}

// spelling is a word as it is written somewhere.
type spelling struct {
	text  string
	tools int // number of tools that have its term
}

func newVocabulary(docs []doc) *vocabulary {
	v := &vocabulary{ids: map[string]int32{}}
	fields := make([][fieldCount][]int32, len(docs))
	var total [fieldCount]float64
	written := map[string]int32{}
	for i := range docs {
		for f, text := range docs[i].text {
			fields[i][f] = v.number(written, words(text), f == fieldName)
			total[f] += float64(len(fields[i][f]))
		}
		v.names = append(v.names, fields[i][fieldName])
		fields[i][fieldName] = append(slices.Clip(fields[i][fieldName]), v.pairs(fields[i][fieldName])...)
		for f := range fieldLead {
			for _, id := range fields[i][f] {
				v.terms[id].named = true
			}
		}
		v.does = append(v.does, v.doing(v.names[i]))
	}
	for i := range docs {
		v.post(int32(i), fields[i], total, len(docs))
	}
	for i := range v.terms {
		n := float64(len(v.terms[i].postings))
		v.terms[i].idf = math.Log(1 + (float64(len(docs))-n+0.5)/(n+0.5))
	}
	v.addSpellings(written)
	return v
}

// number converts words to terms, and records the term of each in written. It leaves out stop words, except in a name, which may consist of
// them (who_am_i).
func (v *vocabulary) number(written map[string]int32, list []string, name bool) []int32 {
	out := make([]int32, 0, len(list))
	for _, w := range list {
		if !name && lists().stop[w] {
			continue
		}
		id, ok := written[w]
		if !ok {
			id = v.add(stem(w))
			written[w] = id
		}
		out = append(out, id)
	}
	return out
}

// add returns the number of a term, and adds the term if it is new.
func (v *vocabulary) add(text string) int32 {
	id, ok := v.ids[text]
	if !ok {
		id = int32(len(v.terms))
		v.ids[text] = id
		v.terms = append(v.terms, term{text: text})
	}
	return id
}

// pairs returns the terms for neighbours in a name of which one is a stop word, written as one word: oncall.
func (v *vocabulary) pairs(name []int32) []int32 {
	var out []int32
	for i := 1; i < len(name); i++ {
		a, b := v.terms[name[i-1]].text, v.terms[name[i]].text
		if lists().stop[a] != lists().stop[b] {
			out = append(out, v.add(stem(a+b)))
		}
	}
	return out
}

// post adds one tool to the postings of its terms.
func (v *vocabulary) post(doc int32, fields [fieldCount][]int32, total [fieldCount]float64, docs int) {
	sum := map[int32]float64{}
	for f, list := range fields {
		b := fieldLengths[f]
		average := max(1, total[f]/float64(docs))
		each := fieldWeights[f] / (1 - b + b*float64(len(list))/average)
		for _, id := range list {
			sum[id] += each
		}
	}
	for id, value := range sum {
		v.terms[id].postings = append(v.terms[id].postings, posting{doc, value / (saturation + value)})
	}
}

// doing returns what a tool does, according to the first verb in its name and the last word.
func (v *vocabulary) doing(name []int32) action {
	var out action
	for i, t := range name {
		if out == 0 || i == len(name)-1 {
			out |= lists().verbs[v.terms[t].text]
		}
	}
	return out
}

// says returns how much a term says about a tool.
func (v *vocabulary) says(term, doc int32) float64 {
	list := v.terms[term].postings
	if i, ok := slices.BinarySearchFunc(list, doc, func(p posting, doc int32) int { return cmp.Compare(p.doc, doc) }); ok {
		return list[i].value
	}
	return 0
}

// isNamed reports whether a word is in the names of tools.
func (v *vocabulary) isNamed(word string) bool {
	id, ok := v.ids[stem(word)]
	return ok && v.terms[id].named
}

func (v *vocabulary) addSpellings(written map[string]int32) {
	for text, id := range written {
		v.spellings = append(v.spellings, spelling{text, len(v.terms[id].postings)})
	}
	for _, text := range lists().all {
		if _, known := written[text]; !known {
			v.spellings = append(v.spellings, spelling{text: text})
		}
	}
	slices.SortFunc(v.spellings, func(a, b spelling) int { return strings.Compare(a.text, b.text) })
	v.spellings = slices.Compact(v.spellings)
}

// common sorts the word that more tools have first.
func common(a, b spelling) int {
	return cmp.Or(cmp.Compare(b.tools, a.tools), strings.Compare(a.text, b.text))
}

// begins returns at most most words of the catalog that begin with a word, the commonest first.
func (v *vocabulary) begins(word string, most int) []spelling {
	if len(word) < 3 {
		return nil
	}
	from, _ := slices.BinarySearchFunc(v.spellings, word, func(s spelling, w string) int { return strings.Compare(s.text, w) })
	var out []spelling
	for _, s := range v.spellings[from:] {
		if !strings.HasPrefix(s.text, word) {
			break
		}
		if s.tools > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, common)
	return out[:min(most, len(out))]
}

// nearest returns the word for which a misspelt one was probably meant, if there is one. It may differ in one letter from 4 letters on, and
// in two from 8 on. Words with digits are not corrected: v1 is not v2. A short word with another letter is more likely a word of its own
// (Rome is not role).
func (v *vocabulary) nearest(word string) (string, bool) {
	limit := 1
	if len(word) >= 8 {
		limit = 2
	}
	if len(word) < 4 || len(word) > maxWord || strings.ContainsAny(word, "0123456789") {
		return "", false
	}
	type near struct {
		spelling
		edits, first int // first is 1 if the words begin differently, which a misspelling rarely does
	}
	var best *near
	for _, s := range v.spellings {
		if len(s.text) < len(word)-limit || len(s.text) > len(word)+limit {
			continue
		}
		n := &near{s, ident.Distance(word, s.text), 0}
		if s.text[0] != word[0] {
			n.first = 1
		}
		if n.edits > limit || len(word) <= shortWord && len(s.text) == len(word) && !anagrams(word, s.text) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(n.edits, best.edits), cmp.Compare(n.first, best.first), common(n.spelling, best.spelling)) < 0 {
			best = n
		}
	}
	if best == nil {
		return "", false
	}
	return best.text, true
}

// shortWord is the length, in bytes, up to which another letter makes another word.
const shortWord = 5

// anagrams reports whether two words consist of the same letters.
func anagrams(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
