package search

import "strings"

// weights are those that the ranking by meaning may have, the greatest first; the ranking by words has 1.
var weights = []float64{1, 0.5, 0.25, 0.1}

const (
	// maxAsked is how many tools are asked for by their own names.
	maxAsked = 3 * EmbedBatch
	// maxLoss is how much the mean reciprocal rank of these answers may fall, and maxTrust how much greater than that of the
	// embedder alone a weight may be.
	maxLoss, maxTrust = 0.005, 0.05
)

// asked are the tools that the self-test asks for: evenly spread, at most [maxAsked].
func asked(docs []doc) []int {
	n := min(len(docs), maxAsked)
	out := make([]int, n)
	for i := range out {
		out[i] = i * len(docs) / n
	}
	return out
}

// ownName is the question that the self-test asks for a tool: its name in words.
func ownName(d *doc) string {
	name := clip(strings.Join(words(d.tool.Name), " "), maxName)
	if name == "" { // it is made of signs
		return d.tool.ID
	}
	return name
}

// selfTest returns the weight of the ranking by meaning. It asks for tools by their own names, which words find nearly always: a
// bad embedder puts other tools before them. The weight is the greatest with which the answers are no worse than those of words
// alone, and no greater than how well the embedder finds the names by itself; 0 if no weight qualifies. Equal weights would cost the
// user of a bad embedder many answers, and a fixed small weight would waste a good one.
func (x *Index) selfTest(tools, vectors [][]float32) float64 {
	names := make([]string, len(x.docs))
	for i := range x.docs {
		names[i] = ownName(&x.docs[i])
	}
	asked := asked(x.docs)
	byWords, near := make([][]ranked, len(asked)), make([][]ranked, len(asked))
	for i, d := range asked {
		byWords[i] = x.byWords(x.words.question(names[d]), nil)
		near[i] = nearest(tools, vectors[i], x.docs, nil)
	}
	quality := func(rank func(i int) map[int32]float64) float64 {
		sum := 0.0
		for i, d := range asked {
			sum += reciprocal(rank(i), func(doc int32) bool { return names[doc] == names[d] })
		}
		return sum / float64(max(1, len(asked)))
	}
	least := quality(func(i int) map[int32]float64 { return weigh(byWords[i], nil, 0) }) - maxLoss
	most := quality(func(i int) map[int32]float64 { return weigh(nil, near[i], 1) }) + maxTrust
	for _, w := range weights {
		if w <= most && quality(func(i int) map[int32]float64 { return weigh(byWords[i], near[i], w) }) >= least {
			return w
		}
	}
	return 0
}

// reciprocal is 1 divided by the place of the best tool that fits, 0 if it is not among the first [DefaultLimit]. Of equal
// scores the others come first.
func reciprocal(scores map[int32]float64, fits func(doc int32) bool) float64 {
	best, found := 0.0, false
	for doc, score := range scores {
		if fits(doc) && (!found || score > best) {
			best, found = score, true
		}
	}
	place := 1
	for doc, score := range scores {
		if score >= best && !fits(doc) {
			place++
		}
	}
	if !found || place > DefaultLimit {
		return 0
	}
	return 1 / float64(place)
}
