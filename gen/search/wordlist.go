package search

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/kljensen/snowball/english"
)

//go:embed words.txt
var wordsFile string

// action says what a verb does to things. It is a set of bits.
type action uint8

const (
	actRead action = 1 << iota
	actMake
	actChange
	actRemove
)

// trusts say how surely a synonym means the same, by its section in words.txt.
var trusts = map[string]float64{"form": trustForm, "same": 0.7, "like": 0.5, "implied": 0.5, "everyday": 0.3}

const (
	trustForm   = 0.8
	trustPhrase = 0.8
	// maxPhrase is the number of words in the longest phrase.
	maxPhrase = 3
)

// synonym is a stem that may stand for another.
type synonym struct {
	stem  string
	trust float64
}

// wordList is the content of words.txt.
type wordList struct {
	stop, weak         map[string]bool
	question, quantity map[string]bool
	synonyms           map[string][]synonym // by stem
	phrases            map[string][]string  // by stems separated by blanks, the stems that may stand for them
	short              map[string][]string  // abbreviations
	verbs              map[string]action    // by stem
	all                []string             // every word of the file
}

var lists = sync.OnceValue(readWordList)

func readWordList() *wordList {
	l := &wordList{
		stop: map[string]bool{}, weak: map[string]bool{}, question: map[string]bool{}, quantity: map[string]bool{},
		synonyms: map[string][]synonym{}, phrases: map[string][]string{}, short: map[string][]string{}, verbs: map[string]action{},
	}
	sets := map[string]map[string]bool{"stop": l.stop, "weak": l.weak, "question": l.question, "quantity": l.quantity}
	actions := map[string]action{"read": actRead, "make": actMake, "change": actChange, "remove": actRemove, "either": actMake | actChange}
	var forms [][]string
	section := ""
	for line := range strings.Lines(wordsFile) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
			continue
		}
		from, to, directed := strings.Cut(line, ">")
		words, meant := strings.Fields(from), strings.Fields(to)
		l.all = append(l.all, words...)
		if !directed {
			meant = words
		}
		switch {
		case sets[section] != nil:
			for _, w := range words {
				sets[section][w] = true
			}
		case actions[section] != 0:
			for _, w := range words {
				l.verbs[stem(w)] |= actions[section]
			}
		case section == "phrase":
			key := strings.Join(stems(words), " ")
			l.phrases[key] = append(l.phrases[key], stems(meant)...)
		case section == "short":
			for _, w := range words {
				l.short[w] = meant
			}
		default:
			if section == "form" {
				forms = append(forms, words)
			}
			l.addSynonyms(words, meant, trusts[section])
		}
	}
	l.inherit(forms)
	return l
}

// addSynonyms makes each word in meant a synonym for each word in words.
func (l *wordList) addSynonyms(words, meant []string, trust float64) {
	for _, w := range words {
		for _, m := range meant {
			l.addSynonym(stem(w), synonym{stem(m), trust})
		}
	}
}

func (l *wordList) addSynonym(from string, s synonym) {
	known := slices.ContainsFunc(l.synonyms[from], func(k synonym) bool { return k.stem == s.stem })
	if from != s.stem && !known {
		l.synonyms[from] = append(l.synonyms[from], s)
	}
}

// inherit gives each form of a word the synonyms of its other forms.
func (l *wordList) inherit(forms [][]string) {
	for _, group := range forms {
		var all []synonym
		for _, w := range group {
			all = append(all, l.synonyms[stem(w)]...)
		}
		for _, w := range group {
			for _, s := range all {
				l.addSynonym(stem(w), synonym{s.stem, s.trust * trustForm})
			}
		}
	}
}

// stem maps the forms of a word to one text.
func stem(word string) string { return english.Stem(word, true) }

func stems(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = stem(w)
	}
	return out
}
