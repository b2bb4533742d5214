package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
)

// ranked is a tool with its score.
type ranked struct {
	doc   int32
	score float64
}

// What the ranking by words is made of.
const (
	// maxByName and maxByText are how many tools are looked at for words in their names and elsewhere, roughly;
	// maxCandidates is how many are ranked at all.
	maxByName, maxByText = 2000, 1000
	maxCandidates        = 3000
	// saturation is BM25's k1: how soon more of the same word says no more.
	saturation = 1.5
	// nameShare raises a tool of whose name the query has a greater part.
	nameShare = 0.3
	// pairShare raises a tool for each two neighbours of the query that are neighbours in its name, maxPairs how many count.
	pairShare = 0.3
	maxPairs  = 2
	// spelledOut raises a tool whose name the query has, word by word.
	spelledOut = 1.5
)

// byWords ranks the tools that have words of the query.
func (x *Index) byWords(ctx context.Context, a *asked, s scope) ([]ranked, error) {
	if s != nil && len(s) == 0 {
		return nil, nil
	}
	l := x.words.lookup(a, s == nil)
	for id := range s {
		l.servers = append(l.servers, id)
	}
	slices.Sort(l.servers)
	docs, err := x.store.candidates(ctx, l, maxCandidates)
	if err != nil {
		return nil, err
	}
	out := make([]ranked, len(docs))
	score := newScorer(x.words, a)
	for i, d := range docs {
		out[i] = ranked{d, score.score(d)}
	}
	x.sort(out)
	return out, nil
}

// lookup chooses the terms to look for. Where bounded, those that say the most are looked for first, and common ones as long
// as not too many tools have them: a tool that has only common words of a query is not what is meant, if any other is.
func (v *vocabulary) lookup(a *asked, bounded bool) lookup {
	type wanted struct {
		term  int32
		value float64
	}
	var list []wanted
	for _, c := range a.concepts {
		for _, alt := range c.alternatives {
			list = append(list, wanted{alt.term, alt.trust * c.idf})
		}
	}
	slices.SortFunc(list, func(a, b wanted) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.term, b.term))
	})
	var l lookup
	names, texts := 0, 0
	for _, w := range list {
		if slices.Contains(l.names, w.term) || slices.Contains(l.texts, w.term) {
			continue
		}
		t := v.terms[w.term]
		if t.heads > 0 && (!bounded || names+t.heads <= maxByName || len(l.names) == 0) {
			l.names, names = append(l.names, w.term), names+t.heads
		}
		if t.bodies > 0 && (!bounded || texts+t.bodies <= maxByText || len(l.texts) == 0) {
			l.texts, texts = append(l.texts, w.term), texts+t.bodies
		}
	}
	return l
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
