package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// ranked is a tool with its score.
type ranked struct {
	doc   int32
	score float64
}

const (
	// nameShare raises a tool of whose name the query has a greater part.
	nameShare = 0.3
	// pairShare raises a tool for each two neighbours of the query that are neighbours in its name, up to maxPairs.
	pairShare = 0.3
	maxPairs  = 2
	// doesOther lowers a tool whose name says that it does something other than the query wants; doesNotTell lowers it if
	// the query is a question.
	doesOther   = 0.75
	doesNotTell = 0.3
)

// tally is what is known about a tool while a query is scored.
type tally struct {
	sum, have float64 // what the concepts say about it, and how much of each it has
	named     int     // concepts that its name has
	pairs     int     // neighbours in the query that are neighbours in its name
	// concept is the last one that it has, counted from 1; term is the one that says the most about it of those that stand
	// for the concept, and best is how much. before and beforeTerm are the same for the concept that it had before.
	concept, before  int
	term, beforeTerm int32
	best             float64
}

// byWords ranks the tools that have words of the query.
func (x *Index) byWords(q *question, s scope) []ranked {
	tallies := make([]tally, len(x.docs))
	all := 0.0
	for i, c := range q.concepts {
		all += c.idf
		for _, doc := range x.words.collect(tallies, i+1, c) {
			t := &tallies[doc]
			t.sum += c.idf * t.best
			t.have += c.idf * min(1, 2*t.best)
			name := x.words.names[doc]
			if slices.Contains(name, t.term) {
				t.named++
			}
			if t.before == i && i > 0 && neighbours(name, t.beforeTerm, t.term) {
				t.pairs++
			}
		}
	}
	var out []ranked
	for i := range tallies {
		if tallies[i].concept > 0 && s.has(&x.docs[i]) {
			out = append(out, ranked{int32(i), x.words.score(q, int32(i), &tallies[i], all)})
		}
	}
	x.sort(out)
	return out
}

// collect finds the tools that have a concept, the number-th of a query, and the term that says the most about each.
func (v *vocabulary) collect(tallies []tally, number int, c concept) (docs []int32) {
	add := func(doc, term int32, value float64) {
		t := &tallies[doc]
		if t.concept != number {
			docs = append(docs, doc)
			t.before, t.beforeTerm = t.concept, t.term
			t.concept, t.best = number, 0
		}
		if value > t.best {
			t.best, t.term = value, term
		}
	}
	for _, a := range c.alternatives {
		for _, p := range v.terms[a.term].postings {
			add(p.doc, a.term, a.trust*p.value)
		}
	}
	if len(c.together) > 0 {
		for _, p := range v.terms[c.together[0]].postings {
			least := p.value
			for _, term := range c.together[1:] {
				least = min(least, v.says(term, p.doc))
			}
			if least > 0 {
				add(p.doc, c.together[0], least)
			}
		}
	}
	return docs
}

// score is how well a tool fits a query; all is the idf of all concepts.
func (v *vocabulary) score(q *question, doc int32, t *tally, all float64) float64 {
	name := v.names[doc]
	share := t.have / max(all, 1e-9) // squared: a tool with all words of a query goes before one that has one of them many times
	score := t.sum * share * share * (1 + nameShare*float64(t.named)/float64(max(1, len(name))))
	score *= 1 + pairShare*float64(min(t.pairs, maxPairs))
	if does := v.does[doc]; q.action != 0 && does != 0 && does&q.action == 0 {
		if q.asks {
			score *= doesNotTell
		} else {
			score *= doesOther
		}
	}
	return math.Round(score*1e9) / 1e9 // so that the order does not depend on how a machine adds
}

// neighbours reports whether two terms are beside each other in a name, in either order: some servers put verbs before
// things, others after them.
func neighbours(name []int32, a, b int32) bool {
	for i := 1; i < len(name); i++ {
		if name[i-1] == a && name[i] == b || name[i-1] == b && name[i] == a {
			return true
		}
	}
	return false
}

// sort puts the best first, those of one score in the order of their ids.
func (x *Index) sort(list []ranked) {
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(x.docs[a.doc].tool.ID, x.docs[b.doc].tool.ID))
	})
}

// all are the tools that the filters leave, in the order of their ids.
func (x *Index) all(s scope) []ranked {
	var out []ranked
	for i := range x.docs {
		if s.has(&x.docs[i]) {
			out = append(out, ranked{doc: int32(i)})
		}
	}
	x.sort(out)
	return out
}

// merge joins the ranking by words with that by meaning, by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)
// with their constant. Where the two contradict each other evenly, words decide.
func (x *Index) merge(byWords, byMeaning []ranked) []ranked {
	const constant, words = 60, 1.01
	sum := map[int32]float64{}
	for i, r := range byWords {
		sum[r.doc] += words / float64(constant+i+1)
	}
	for i, r := range byMeaning {
		sum[r.doc] += 1 / float64(constant+i+1)
	}
	out := make([]ranked, 0, len(sum))
	for doc, score := range sum {
		out = append(out, ranked{doc, math.Round(score*1e9) / 1e9})
	}
	x.sort(out)
	return out
}
