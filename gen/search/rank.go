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
	// nameShare is the bonus for the share of the name's words that are in the query.
	nameShare = 0.3
	// pairShare is the bonus for each pair of neighbours in the query that are also neighbours in the name, for at most maxPairs.
	pairShare = 0.3
	maxPairs  = 2
	// otherAction is the factor for a tool whose name has another kind of verb than the query. otherActionAsked is the same factor if the
	// query is a question.
	otherAction      = 0.75
	otherActionAsked = 0.3
	// deprecatedShare is the factor for a deprecated tool.
	deprecatedShare = 0.5
)

// tally accumulates the score of a tool for one query.
type tally struct {
	sum, have float64 // sum of its concepts' weights times their idf, and its share of each concept
	named     int     // number of concepts in its name
	pairs     int     // number of neighbours in the query that are also neighbours in its name
	// concept is the number, from 1, of the last concept found in the tool. term is the term for it with the highest weight, and best is
	// that weight. before and beforeTerm are the previous values of concept and term.
	concept, before  int
	term, beforeTerm int32
	best             float64
}

// byWords ranks the tools that contain words of the query.
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

// collect finds the tools that have a concept of the query, and the best term for each tool. number is the number of the concept.
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

// score returns the score of a tool for a query. all is the sum of the idf of all concepts.
func (v *vocabulary) score(q *question, doc int32, t *tally, all float64) float64 {
	name := v.names[doc]
	share := t.have / max(all, 1e-9) // squared, so that a tool with all words of a query comes before one that has one of them many times
	score := t.sum * share * share * (1 + nameShare*float64(t.named)/float64(max(1, len(name))))
	score *= 1 + pairShare*float64(min(t.pairs, maxPairs))
	if does := v.does[doc]; q.action != 0 && does != 0 && does&q.action == 0 {
		if q.asks {
			score *= otherActionAsked
		} else {
			score *= otherAction
		}
	}
	return math.Round(score*1e9) / 1e9 // makes the order independent of rounding differences between machines
}

// neighbours reports whether two terms are next to each other in a name, in either order, because some servers put verbs before things and
// others after them.
func neighbours(name []int32, a, b int32) bool {
	for i := 1; i < len(name); i++ {
		if name[i-1] == a && name[i] == b || name[i-1] == b && name[i] == a {
			return true
		}
	}
	return false
}

// sort sorts by score, best first, and then by id.
func (x *Index) sort(list []ranked) {
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(x.docs[a.doc].tool.ID, x.docs[b.doc].tool.ID))
	})
}

// all returns the tools in scope, sorted by id.
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

// fuse combines the rankings of several wordings. The score of a tool is the sum of its shares of the best score in each (CombSUM, Fox and
// Shaw, 1994). With reciprocal rank fusion, up to 5 % fewer of the questions in testdata/search had their answer among the first three, and
// its scores do not show which hits are likely.
func (x *Index) fuse(rankings ...[]ranked) []ranked {
	if len(rankings) == 1 {
		return rankings[0]
	}
	sum := map[int32]float64{}
	for _, list := range rankings {
		for _, r := range list {
			sum[r.doc] += r.score / max(list[0].score, 1e-9)
		}
	}
	return x.sum(sum)
}

// sum returns the ranking by scores.
func (x *Index) sum(scores map[int32]float64) []ranked {
	out := make([]ranked, 0, len(scores))
	for doc, score := range scores {
		out = append(out, ranked{doc, math.Round(score*1e9) / 1e9})
	}
	x.sort(out)
	return out
}

// merge adds the ranking by meaning, with a weight, to the ranking by words. If words find nothing, the result is the ranking by meaning.
func (x *Index) merge(byWords, byMeaning []ranked, weight float64) []ranked {
	if len(byWords) == 0 {
		weight = 1
	}
	if weight == 0 || len(byMeaning) == 0 {
		return byWords
	}
	return x.sum(weigh(byWords, byMeaning, weight))
}

// weigh returns the scores of tools in two rankings: the sum of their shares of the best score in each. The scores by meaning are counted
// from the last tool in that ranking (a convex combination; Bruch, Gai and Ingber, 2023). Reciprocal rank fusion costs far more if one
// ranking is bad.
func weigh(byWords, byMeaning []ranked, weight float64) map[int32]float64 {
	sum := make(map[int32]float64, len(byWords)+len(byMeaning))
	for _, r := range byWords {
		sum[r.doc] = r.score / max(byWords[0].score, 1e-9)
	}
	if weight == 0 || len(byMeaning) == 0 {
		return sum
	}
	best, last := byMeaning[0].score, byMeaning[len(byMeaning)-1].score
	for _, r := range byMeaning {
		share := 1.0
		if best > last {
			share = (r.score - last) / (best - last)
		}
		sum[r.doc] += weight * share
	}
	return sum
}
