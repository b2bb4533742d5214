package search

import (
	"math"
	"slices"
)

// scorer tells how well tools fit one query.
type scorer struct {
	*vocabulary
	asked *asked
	all   float64 // the idf of all its concepts
	// slots has for each term of the vocabulary its place in says, from 1; 0: the query does not have it.
	slots []uint16
	says  []float64 // how much each term of the query says of the tool at hand, from 0 to 1
	used  []int32
}

func newScorer(v *vocabulary, a *asked) *scorer {
	s := &scorer{vocabulary: v, asked: a, slots: make([]uint16, len(v.terms)), says: []float64{0}}
	for _, c := range a.concepts {
		s.all += c.idf
		for _, alt := range c.alternatives {
			s.slot(alt.term)
		}
		for _, t := range c.together {
			s.slot(t)
		}
	}
	return s
}

// slot gives a term a place; there are fewer than the bounds of a query allow, which a uint16 holds.
func (s *scorer) slot(term int32) {
	if s.slots[term] == 0 {
		s.slots[term] = uint16(len(s.says))
		s.says = append(s.says, 0)
	}
}

// score is how well a tool fits.
func (s *scorer) score(doc int32) float64 {
	if s.all == 0 {
		return 0
	}
	clear(s.says)
	for _, w := range s.docs[doc] {
		if at := s.slots[w.term]; at > 0 {
			s.says[at] = float64(w.value) / (saturation + float64(w.value))
		}
	}
	var sum, have float64
	name, pairs, last := s.names[doc], 0, int32(-1)
	s.used = s.used[:0]
	for i := range s.asked.concepts {
		c := &s.asked.concepts[i]
		best, term := s.best(c)
		if best == 0 {
			last = -1
			continue
		}
		s.used = append(s.used, term)
		sum += c.idf * best
		have += c.idf * min(1, best*2)
		if neighbours(name, last, term) {
			pairs++
		}
		last = term
	}
	named := 0
	for _, t := range name {
		if slices.Contains(s.used, t) {
			named++
		}
	}
	share := have / s.all // squared below: what has all words of a query goes before what has one of them many times
	score := sum * share * share * (1 + nameShare*float64(named)/float64(max(1, len(name))))
	score *= 1 + pairShare*float64(min(pairs, maxPairs))
	if s.asked.spells(name) {
		score *= spelledOut
	}
	score *= s.asked.wish.fits(s.does[doc])
	return math.Round(score*1e9) / 1e9 // so that the order does not depend on how a machine adds
}

// best is the term of a concept that says the most of the tool at hand, and how much.
func (s *scorer) best(c *concept) (best float64, term int32) {
	for _, alt := range c.alternatives {
		if x := alt.trust * s.says[s.slots[alt.term]]; x > best {
			best, term = x, alt.term
		}
	}
	if len(c.together) == 0 {
		return best, term
	}
	least := 1.0
	for _, t := range c.together {
		least = min(least, s.says[s.slots[t]])
	}
	if least > best {
		return least, c.together[0]
	}
	return best, term
}

// neighbours tells whether two terms, of which there may be none (-1), are beside each other in a name, either first: some
// servers put verbs before things, others after them.
func neighbours(name []int32, a, b int32) bool {
	for i := 1; i < len(name); i++ {
		if name[i-1] == a && name[i] == b || name[i-1] == b && name[i] == a {
			return true
		}
	}
	return false
}

// spells tells whether the query has a name, of two words or more, word by word.
func (a *asked) spells(name []int32) bool {
	if len(name) < 2 {
		return false
	}
	for i := range max(0, len(a.words)-len(name)+1) {
		if slices.Equal(a.words[i:i+len(name)], name) {
			return true
		}
	}
	return false
}
