package search

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// weights are the possible weights of the ranking by meaning, the greatest first. The ranking by words has weight 1.
var weights = []float64{1, 0.5, 0.25, 0.1}

const (
	// maxAsked bounds the number of tools that the self-test asks for by their own names.
	maxAsked = 3 * EmbedBatch
	// maxLoss is how much the mean reciprocal rank of these answers may fall. maxTrust is how much a weight may exceed the mean reciprocal
	// rank of the embedder alone.
	maxLoss, maxTrust = 0.005, 0.05
)

// asked returns the tools that the self-test asks for: at most [maxAsked], evenly spread.
func asked(docs []doc) []int {
	n := min(len(docs), maxAsked)
	out := make([]int, n)
	for i := range out {
		out[i] = i * len(docs) / n
	}
	return out
}

// ownName returns the question with which the self-test asks for a tool: its name in words.
func ownName(d *doc) string {
	name := ident.Head(strings.Join(words(d.tool.Name), " "), maxName)
	if name == "" { // it consists of symbols
		return d.tool.ID
	}
	return name
}

// selfTest returns the weight of the ranking by meaning. It asks for tools by their own names, which words nearly always find, while a bad
// embedder puts other tools first. The weight is the greatest one with which the answers are no worse than those of words alone, and which
// does not exceed how well the embedder finds the names by itself. It is 0 if no weight qualifies. With equal weights, the user of a bad
// embedder would lose many answers; a small fixed weight would waste a good embedder.
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

// reciprocal returns 1 divided by the rank of the best tool that fits, or 0 if it is not among the first [DefaultLimit]. Tools with equal
// scores are ranked before it.
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
