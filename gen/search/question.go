package search

import (
	"slices"
	"strings"
	"unicode"
)

// Bounds of one query.
const (
	maxConcepts     = 48 // words that count; a longer query is a document
	maxAlternatives = 24 // terms that may stand for one of them
	// maxMended bounds the number of misspelt words that are looked up, because each is compared with thousands.
	maxMended = 16
	// minPart is the length, in bytes, of the shortest part into which a word is split.
	minPart = 3
)

const (
	trustBegins = 0.35 // trust in a term that begins with the word
	weakShare   = 0.3  // weight of a weak word or a number
)

// question is a query in the terms of the vocabulary.
type question struct {
	concepts []concept
	// action is what the query wants done, or 0 if it does not say.
	action action
	// asks reports whether it has the form of a question: "which issues are open".
	asks bool
	// unknown counts the words that no tool has and that resemble no word of a tool.
	unknown int
}

func (q *question) empty() bool { return len(q.concepts) == 0 && q.unknown == 0 }

// concept is one word or phrase of a query: the terms that may stand for it.
type concept struct {
	alternatives []alternative
	// together are terms that stand for the concept if a tool has all of them: the words of a phrase.
	together []int32
	idf      float64
}

type alternative struct {
	term int32
	// trust says how surely it means the same: 1 for the word itself.
	trust float64
}

// question reads a query.
func (v *vocabulary) question(text string) *question {
	all := v.spell(words(text))
	stemmed := stems(all)
	onlyStopWords := !slices.ContainsFunc(all, func(w string) bool { return !lists().stop[w] })
	q := &question{}
	q.intent(all, stemmed)
	seen := map[string]bool{}
	covered := 0 // words before this index are parts of a phrase that stands for them
	for i := range all {
		if len(q.concepts) >= maxConcepts {
			break
		}
		covered = max(covered, i+q.phrases(v, stemmed[i:], all[i:]))
		if lists().stop[all[i]] && !onlyStopWords || seen[stemmed[i]] {
			continue
		}
		seen[stemmed[i]] = true
		c := v.concept(all[i], stemmed[i])
		if i+1 < len(all) {
			c.add(v, stem(all[i]+all[i+1]), 1)
		}
		if i > 0 {
			c.add(v, stem(all[i-1]+all[i]), 1)
		}
		if q.asks {
			c.leaveOutChanges(v)
		}
		q.take(v, c, isWeak(all[i]) || i < covered)
	}
	return q
}

// intent finds out what a query wants done. The first verb counts; later ones may be things (a search index) or say which ones (issues to
// close).
func (q *question) intent(all, stemmed []string) {
	if len(all) > 1 && (lists().question[all[0]] || all[0] == "how" && lists().quantity[all[1]]) {
		q.action, q.asks = actRead, true
		return
	}
	for _, s := range stemmed {
		if q.action = lists().verbs[s]; q.action != 0 {
			return
		}
	}
}

// isWeak reports whether a word says little, as numbers do, because they are values of arguments.
func isWeak(word string) bool {
	return lists().weak[word] || strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// take adds a concept if there is a term that may stand for it.
func (q *question) take(v *vocabulary, c concept, weak bool) {
	if len(c.alternatives) == 0 {
		q.unknown++
		return
	}
	// The idf is that of the word itself, or else of the commonest term that may stand for it.
	c.idf = v.terms[c.alternatives[0].term].idf
	for _, a := range c.alternatives {
		if c.alternatives[0].trust < 1 {
			c.idf = min(c.idf, v.terms[a.term].idf)
		}
	}
	if weak {
		c.idf *= weakShare
	}
	q.concepts = append(q.concepts, c)
}

// phrases adds the phrases that the next words form, and returns how many of these words mean nothing else.
func (q *question) phrases(v *vocabulary, next, written []string) (covered int) {
	if len(next) > 1 && lists().stop[written[0]] != lists().stop[written[1]] {
		var c concept
		if c.add(v, stem(written[0]+written[1]), 1); len(c.alternatives) > 0 { // on call
			q.take(v, c, false)
			covered = 2
		}
	}
	for n := 2; n <= min(maxPhrase, len(next)); n++ {
		var c concept
		for _, s := range lists().phrases[strings.Join(next[:n], " ")] {
			c.add(v, s, trustPhrase)
		}
		if len(c.alternatives) == 0 {
			continue
		}
		for i := range n {
			if id, ok := v.ids[next[i]]; ok && !lists().stop[written[i]] {
				c.together = append(c.together, id)
			}
		}
		if len(c.together) < n {
			c.together = nil // the rest of the words form no phrase
		}
		q.take(v, c, false)
		if c.together == nil || slices.ContainsFunc(written[:n], isWeak) {
			covered = n // alone, its words mean something else: spin up
		}
	}
	return covered
}

// concept finds the terms that may stand for a word.
func (v *vocabulary) concept(word, stemmed string) concept {
	var c concept
	c.add(v, stemmed, 1)
	for _, s := range lists().synonyms[stemmed] {
		c.add(v, s.stem, s.trust)
	}
	if _, known := v.ids[stemmed]; !known {
		for _, s := range v.begins(word, 6) {
			c.add(v, stem(s.text), trustBegins)
		}
	}
	return c
}

func (c *concept) add(v *vocabulary, text string, trust float64) {
	id, ok := v.ids[text]
	if !ok || len(c.alternatives) == maxAlternatives || slices.ContainsFunc(c.alternatives, func(a alternative) bool { return a.term == id }) {
		return
	}
	c.alternatives = append(c.alternatives, alternative{id, trust})
}

// leaveOutChanges removes synonyms that create, change or remove things, because in a question a verb says which things are meant (those
// that are open).
func (c *concept) leaveOutChanges(v *vocabulary) {
	c.alternatives = slices.DeleteFunc(c.alternatives, func(a alternative) bool {
		does := lists().verbs[v.terms[a.term].text]
		return a.trust < 1 && does != 0 && does&actRead == 0
	})
}

// spell rewrites the words of a query as the catalog writes them. An abbreviation is expanded if names contain its words. A word that no
// tool has is split into two words that names have (cherrypick), or replaced by the word that it resembles.
func (v *vocabulary) spell(list []string) []string {
	out := make([]string, 0, len(list))
	mended := 0
	for _, w := range list {
		long := lists().short[w]
		switch {
		case long != nil && !slices.ContainsFunc(long, func(w string) bool { return !v.isNamed(w) }):
			out = append(out, long...)
			continue
		case mended == maxMended || !v.strange(w):
			out = append(out, w)
			continue
		}
		mended++
		if meant, ok := v.nearest(w); ok {
			out = append(out, meant)
		} else if first, second, ok := v.split(w); ok {
			out = append(out, first, second)
		} else {
			out = append(out, w)
		}
	}
	return out
}

// strange reports whether a word is neither in the catalog nor in the word list, nor begins a word there.
func (v *vocabulary) strange(word string) bool {
	s := stem(word)
	_, known := v.ids[s]
	return !known && !lists().stop[word] && !isWeak(word) && len(lists().synonyms[s]) == 0 && len(v.begins(word, 1)) == 0
}

// split splits a word into two words that names have. Of several ways it takes the one whose rarer part is in the most tools.
func (v *vocabulary) split(word string) (first, second string, ok bool) {
	most := 0
	for i := minPart; i <= len(word)-minPart; i++ {
		a, b := word[:i], word[i:]
		if lists().stop[a] || lists().stop[b] || !v.isNamed(a) || !v.isNamed(b) {
			continue
		}
		if n := min(len(v.terms[v.ids[stem(a)]].postings), len(v.terms[v.ids[stem(b)]].postings)); n > most {
			first, second, most = a, b, n
		}
	}
	return first, second, most > 0
}
