package poison

// normalized is a text in the forms that rules match.
type normalized struct {
	// plain is the text in lower case. If the text is not ASCII, it is in compatibility form (NFKC), without invisible characters and
	// look-alike letters are replaced.
	plain     string
	sentences []sentence
	// bits is the union of the bits of all sentences.
	bits bitset
}

// sentence is one sentence, with the sets of which it contains words. The text consists of the words and a final period, each preceded by a
// space, and a space at the end.
type sentence struct {
	text string
	bits bitset
}

// bitset has one bit for each set of words. A sentence has the bits of the sets of which it contains a word. A rule is tried only on
// sentences that have all the bits it needs, because looking up words is much cheaper than matching.
type bitset [6]uint64

func (s *bitset) add(other bitset) {
	for i := range s {
		s[i] |= other[i]
	}
}

// contains reports whether s has all bits of subset.
func (s *bitset) contains(subset *bitset) bool {
	for i := range s {
		if s[i]&subset[i] != subset[i] {
			return false
		}
	}
	return true
}

// bit returns the bitset that has only bit n.
func bit(n int) bitset {
	var s bitset
	s[n/64] = 1 << (n % 64)
	return s
}
