package search

import (
	"slices"
	"strings"
	"unicode"
)

// Bounds of one query.
const (
	maxConcepts     = 48 // words that count; what is longer is a document
	maxAlternatives = 24 // terms that may stand for one of them
)

// asked is a query in the terms of the vocabulary.
type asked struct {
	concepts []concept
	// words are the terms of all its words, in their order, also of those that mean nothing; -1 where no tool has one.
	words []int32
	// wish is what it wants done.
	wish wanted
	// unknown is how many words no tool has, and none resembles.
	unknown int
}

func (a *asked) empty() bool { return len(a.concepts) == 0 && a.unknown == 0 }

// concept is one word of a query: the terms that may stand for it.
type concept struct {
	alternatives []alternative
	// together are terms that stand for it when a tool has all of them: the words of a phrase.
	together []int32
	// idf is how much it tells tools apart.
	idf float64
	// slip is that the alternatives stand for a misspelt word, the likeliest first.
	slip bool
}

type alternative struct {
	term int32
	// trust is how sure it is that it means the same: 1 for the word itself.
	trust float64
}

// How much what is not the word itself is trusted, and what a weak word or a number counts.
const (
	trustJoined = 1.0  // the word in two, or two words in one
	trustBegins = 0.35 // a term that begins with the word
	weakShare   = 0.3
)

// ask reads a query.
func (v *vocabulary) ask(text string) *asked {
	all := v.spell(words(text))
	stemmed := stems(all)
	meaning := func(i int) bool { return !stopWords[all[i]] }
	if !slices.ContainsFunc(all, func(w string) bool { return !stopWords[w] }) {
		meaning = func(int) bool { return true }
	}
	a := &asked{words: v.known(stemmed), wish: wish(all, stemmed)}
	seen := map[string]bool{}
	covered := 0 // so many words are parts of a phrase that stands for them
	for i := range all {
		if len(a.concepts) == maxConcepts {
			break
		}
		covered = max(covered, i+a.phrases(v, stemmed[i:], all[i:]))
		if !meaning(i) || seen[stemmed[i]] {
			continue
		}
		seen[stemmed[i]] = true
		c := v.concept(all[i], stemmed[i])
		if i+1 < len(all) {
			c.add(v, stem(all[i]+all[i+1]), trustJoined)
		}
		if i > 0 {
			c.add(v, stem(all[i-1]+all[i]), trustJoined)
		}
		if a.wish.asks {
			c.ask(v)
		}
		a.take(v, c, weak(all[i]) || i < covered)
	}
	return a
}

// weak tells whether a word says little: some do, and numbers are values of what a tool takes.
func weak(word string) bool {
	return weakWords[word] || strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// take adds a concept that something may stand for.
func (a *asked) take(v *vocabulary, c concept, weak bool) {
	if len(c.alternatives) == 0 {
		a.unknown++
		return
	}
	c.weigh(v)
	if weak {
		c.idf *= weakShare
	}
	a.concepts = append(a.concepts, c)
}

// known are the terms of stems; -1 where no tool has one.
func (v *vocabulary) known(stems []string) []int32 {
	out := make([]int32, len(stems))
	for i, s := range stems {
		id, ok := v.ids[s]
		if !ok {
			id = -1
		}
		out[i] = id
	}
	return out
}

// phrases adds what the next words mean together, and returns how many of them it stands for alone.
func (a *asked) phrases(v *vocabulary, next, written []string) (covered int) {
	for n := 2; n <= min(maxPhrase, len(next)); n++ {
		var c concept
		for _, s := range phraseWords()[strings.Join(next[:n], " ")] {
			c.add(v, s, trustPhrase)
		}
		if len(c.alternatives) == 0 {
			continue
		}
		for i := range n {
			if id, ok := v.ids[next[i]]; ok && !stopWords[written[i]] {
				c.together = append(c.together, id)
			}
		}
		if len(c.together) < n {
			c.together = nil // what is left is no phrase
		}
		a.take(v, c, false)
		if c.together == nil || slices.ContainsFunc(written[:n], weak) {
			covered = n // its words mean something else by themselves: spin up
		}
	}
	return covered
}

// concept finds what may stand for a word.
func (v *vocabulary) concept(word, stemmed string) concept {
	var c concept
	c.add(v, stemmed, 1)
	for _, s := range synonyms()[stemmed] {
		c.add(v, s.stem, s.trust)
	}
	if _, known := v.ids[stemmed]; known {
		return c
	}
	for _, i := range v.fuzzy.begins(word, 6) {
		c.addID(i, trustBegins)
	}
	if len(c.alternatives) > 0 {
		return c // a word that is known to mean something is not misspelt
	}
	for _, n := range v.fuzzy.near(word, 4) {
		c.addID(n.term, n.trust)
	}
	if len(c.alternatives) > 0 {
		c.slip = true
		meant := c.alternatives[0]
		for _, s := range synonyms()[v.terms[meant.term].text] {
			c.add(v, s.stem, s.trust*meant.trust)
		}
	}
	return c
}

func (c *concept) add(v *vocabulary, stemmed string, trust float64) {
	if id, ok := v.ids[stemmed]; ok {
		c.addID(id, trust)
	}
}

// ask leaves out what makes, changes or removes things, but for the word itself: in a question, a verb that may stand for
// such says which things are meant (those that are open).
func (c *concept) ask(v *vocabulary) {
	c.alternatives = slices.DeleteFunc(c.alternatives, func(a alternative) bool {
		does := verbs()[v.terms[a.term].text]
		return a.trust < 1 && does != 0 && does&actRead == 0
	})
}

func (c *concept) addID(id int32, trust float64) {
	if len(c.alternatives) == maxAlternatives || slices.ContainsFunc(c.alternatives, func(a alternative) bool { return a.term == id }) {
		return
	}
	c.alternatives = append(c.alternatives, alternative{id, trust})
}

// weigh sets the idf: that of the word itself or of what it is a slip of, or else of the commonest that may stand for it.
func (c *concept) weigh(v *vocabulary) {
	for i, a := range c.alternatives {
		if a.trust == 1 || i == 0 {
			c.idf = v.idf[a.term]
			if c.slip {
				c.idf *= min(1, a.trust/surely)
			}
			if a.trust == 1 || c.slip {
				return
			}
		}
		c.idf = min(c.idf, v.idf[a.term])
	}
}
