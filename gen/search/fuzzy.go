package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// fuzzy finds terms that a word resembles, by how they are written.
type fuzzy struct {
	words []spelling // sorted by text
}

// spelling is a word as it is written somewhere.
type spelling struct {
	text    string
	letters uint64 // as bits
	term    int32
	tools   int // how many have the term
}

func newFuzzy(written map[string]int32, terms []term) fuzzy {
	f := fuzzy{words: make([]spelling, 0, len(written))}
	for text, id := range written {
		f.words = append(f.words, spelling{text, mask(text), id, terms[id].tools})
	}
	slices.SortFunc(f.words, func(a, b spelling) int { return strings.Compare(a.text, b.text) })
	return f
}

func mask(s string) uint64 {
	var m uint64
	for i := range len(s) {
		m |= 1 << (s[i] & 63)
	}
	return m
}

// begins are the terms of words that begin with a word, at most most of them, the commonest first.
func (f *fuzzy) begins(word string, most int) []int32 {
	if len(word) < 3 {
		return nil
	}
	from, _ := slices.BinarySearchFunc(f.words, word, func(s spelling, w string) int { return strings.Compare(s.text, w) })
	var list []spelling
	for _, s := range f.words[from:] {
		if !strings.HasPrefix(s.text, word) {
			break
		}
		list = append(list, s)
	}
	slices.SortFunc(list, common)
	var out []int32
	for _, s := range list {
		if len(out) < most && !slices.Contains(out, s.term) {
			out = append(out, s.term)
		}
	}
	return out
}

// common puts the word whose term more tools have first.
func common(a, b spelling) int {
	return cmp.Or(cmp.Compare(b.tools, a.tools), strings.Compare(a.text, b.text))
}

// resemblance is a term that may be meant by another spelling.
type resemblance struct {
	term  int32
	trust float64
}

// near are the terms that are nearest to a word: one letter off from 4 letters on, two from 8 on. Exchanged neighbours
// are one. Words with digits are taken as they are: v1 is not v2.
func (f *fuzzy) near(word string, most int) []resemblance {
	limit := 0
	switch n := len(word); {
	case n > maxWord || strings.ContainsAny(word, "0123456789"):
		return nil
	case n >= 8:
		limit = 2
	case n >= 4:
		limit = 1
	}
	if limit == 0 {
		return nil
	}
	type found struct {
		spelling
		distance, first int // first: 1 where another letter begins it, which is seldom a slip
	}
	var list []found
	letters := mask(word)
	var d distances
	for _, w := range f.words {
		if abs(len(w.text)-len(word)) > limit || bits.OnesCount64(w.letters^letters) > 2*limit {
			continue
		}
		if n := d.between(word, w.text); n <= limit {
			x := found{spelling: w, distance: n}
			if w.text[0] != word[0] {
				x.first = 1
			}
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.first, b.first), common(a.spelling, b.spelling))
	})
	var out []resemblance
	for _, x := range list {
		if x.distance > list[0].distance || len(out) == most {
			break // a nearer one is meant
		}
		if !slices.ContainsFunc(out, func(r resemblance) bool { return r.term == x.term }) {
			out = append(out, resemblance{x.term, trustSlip(word, x.text) / float64(x.distance+x.first)})
		}
	}
	return out
}

// trustSlip is how far a word is taken for a slip of another that is one letter off: little where it is short and has a
// letter instead of another, for then it is likelier a word or a name of its own (Rome is no role).
func trustSlip(word, other string) float64 {
	if len(word) > shortWord || len(word) != len(other) || anagrams(word, other) {
		return 0.8
	}
	return 0.3
}

// shortWord is the longest word, in bytes, of which one letter more or less makes another word.
const shortWord = 5

// anagrams tells whether two words of one length have the same letters.
func anagrams(a, b string) bool {
	var n [256]int
	for i := range len(a) {
		n[a[i]]++
		n[b[i]]--
	}
	return n == [256]int{}
}

func abs(n int) int { return max(n, -n) }

// distances holds the rows that comparing two words needs.
type distances [3][maxWord + 1]uint8

// between counts the bytes to be inserted, removed, replaced or exchanged with their neighbour to make b of a. Neither is
// longer than [maxWord].
func (d *distances) between(a, b string) int {
	before, last, row := &d[0], &d[1], &d[2]
	for j := range len(b) + 1 {
		last[j] = uint8(j)
	}
	for i := range len(a) {
		row[0] = uint8(i + 1)
		for j := range len(b) {
			cost := uint8(1)
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return int(last[len(b)])
}
