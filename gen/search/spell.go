package search

import (
	"slices"
	"strings"
	"sync"
)

// shortForms are abbreviations, and after the arrow what they are short for.
const shortForms = `
	pr prs > pull request
	mr mrs > merge request
	vm vms > virtual machine
	tts > text speech
	stt > speech text
	poi > point interest
`

var writtenOut = sync.OnceValue(readShortForms)

func readShortForms() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(shortForms) {
		short, long, _ := strings.Cut(line, ">")
		for s := range strings.FieldsSeq(short) {
			out[s] = strings.Fields(long)
		}
	}
	return out
}

const (
	// minPart is the shortest part, in bytes, that a word is split into.
	minPart = 3
	// surely is the least trust with which a word is taken for a slip of another whatever the catalog says: one letter.
	surely = 0.8
	// maxMended is how many words of a query are looked at: mending one compares it with thousands.
	maxMended = 16
)

// spell writes out the words of a query as the catalog has them: short forms if names have their words, a word that is in
// no tool in two that are in names (cherrypick), and slips of words that people use.
func (v *vocabulary) spell(list []string) []string {
	out := make([]string, 0, len(list))
	mended := 0
	for _, w := range list {
		if long := writtenOut()[w]; long != nil && !slices.ContainsFunc(long, func(w string) bool { return !v.named(w) }) {
			out = append(out, long...)
			continue
		}
		if mended == maxMended || !v.strange(w) {
			out = append(out, w)
			continue
		}
		mended++
		out = append(out, v.mend(w)...)
	}
	return out
}

// strange tells whether a word stands for nothing, nor for the beginning of anything.
func (v *vocabulary) strange(word string) bool {
	if len(word) < 4 || len(word) > maxWord || stopWords[word] || weak(word) {
		return false
	}
	s := stem(word)
	_, known := v.ids[s]
	return !known && len(synonyms()[s]) == 0 && len(v.fuzzy.begins(word, 1)) == 0
}

// mend returns what a strange word may be meant for, or the word.
func (v *vocabulary) mend(word string) []string {
	var inCatalog, inLists resemblance
	if near := v.fuzzy.near(word, 1); len(near) > 0 {
		inCatalog = near[0]
	}
	if near := lexicon().near(word, 1); len(near) > 0 {
		inLists = near[0]
	}
	if inCatalog.trust < surely && inLists.trust < surely {
		if first, second, ok := v.split(word); ok {
			return []string{first, second}
		}
	}
	if inLists.trust >= surely && inLists.trust >= inCatalog.trust {
		return []string{lexicon().words[inLists.term].text}
	}
	return []string{word}
}

// named tells whether a word is in the names of tools.
func (v *vocabulary) named(word string) bool {
	id, ok := v.ids[stem(word)]
	return ok && v.terms[id].heads > 0
}

// split parts a word in two that are in names. Of several ways it takes the one whose rarer part is in the most tools.
func (v *vocabulary) split(word string) (first, second string, ok bool) {
	most := 0
	for i := minPart; i <= len(word)-minPart; i++ {
		a, b := word[:i], word[i:]
		if stopWords[a] || stopWords[b] || !v.named(a) || !v.named(b) {
			continue
		}
		if n := min(v.terms[v.ids[stem(a)]].tools, v.terms[v.ids[stem(b)]].tools); n > most {
			first, second, most = a, b, n
		}
	}
	return first, second, most > 0
}

// lexicon is the words of the word lists, which people use whether a catalog has them or not.
var lexicon = sync.OnceValue(newLexicon)

func newLexicon() *fuzzy {
	all := map[string]int32{}
	for _, list := range []string{formWords, sameWords, likeWords, impliedWords, phrases} {
		for w := range set(strings.ReplaceAll(list, ">", "")) {
			all[w] = 0
		}
	}
	for _, list := range []map[string]bool{stopWords, weakWords} {
		for w := range list {
			all[w] = 0
		}
	}
	f := newFuzzy(all, make([]term, 1))
	for i := range f.words {
		f.words[i].term = int32(i) // here a word is itself
	}
	return &f
}
