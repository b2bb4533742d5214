package search

import (
	"slices"
	"strings"
	"sync"
)

// How much a synonym is trusted to mean the same.
const (
	trustForm    = 0.8
	trustSame    = 0.7
	trustLike    = 0.5
	trustImplied = 0.5
	trustPhrase  = 0.8
)

// synonym is a stem that may stand for another.
type synonym struct {
	stem  string
	trust float64
}

// synonyms gives each stem those that may stand for it, the most trusted first; phraseWords gives the stems of a phrase,
// with spaces between them, what it stands for.
var (
	synonyms    = sync.OnceValue(readSynonyms)
	phraseWords = sync.OnceValue(readPhrases)
)

func readSynonyms() map[string][]synonym {
	out := map[string][]synonym{}
	for _, part := range []struct {
		text  string
		trust float64
	}{{formWords, trustForm}, {sameWords, trustSame}, {likeWords, trustLike}, {impliedWords, trustImplied}} {
		for line := range strings.Lines(part.text) {
			from, to, directed := strings.Cut(line, ">")
			if !directed {
				to = from
			}
			for a := range strings.FieldsSeq(from) {
				for b := range strings.FieldsSeq(to) {
					addSynonym(out, stem(a), synonym{stem(b), part.trust})
				}
			}
		}
	}
	inherit(out)
	return out
}

// inherit gives each form of a word what may stand for the others.
func inherit(to map[string][]synonym) {
	for line := range strings.Lines(formWords) {
		group := stems(strings.Fields(line))
		var all []synonym
		for _, s := range group {
			all = append(all, to[s]...)
		}
		for _, s := range group {
			for _, other := range all {
				addSynonym(to, s, synonym{other.stem, other.trust * trustForm})
			}
		}
	}
}

func addSynonym(to map[string][]synonym, from string, s synonym) {
	known := slices.ContainsFunc(to[from], func(k synonym) bool { return k.stem == s.stem })
	if from != s.stem && !known {
		to[from] = append(to[from], s)
	}
}

// maxPhrase is the number of words in the longest phrase.
const maxPhrase = 3

func readPhrases() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(phrases) {
		from, to, ok := strings.Cut(line, ">")
		if !ok {
			continue
		}
		key := strings.Join(stems(strings.Fields(from)), " ")
		out[key] = append(out[key], stems(strings.Fields(to))...)
	}
	return out
}

func stems(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = stem(w)
	}
	return out
}
