package search

import (
	"cmp"
	"math"
	"slices"
)

// fieldWeights say how much a word in a field counts, fieldLengths how much less it does in a long one (BM25F's w and b).
var (
	fieldWeights = [fieldCount]float64{fieldName: 4, fieldTitle: 1.5, fieldGroup: 1.5, fieldLead: 1.5, fieldBody: 0.7, fieldInput: 0.5}
	fieldLengths = [fieldCount]float64{fieldName: 1, fieldTitle: 1, fieldGroup: 0.4, fieldLead: 0.4, fieldBody: 0.75, fieldInput: 0.75}
)

// vocabulary is all terms of a catalog, and what each says of each tool. It does not change once it is made.
type vocabulary struct {
	ids   map[string]int32
	terms []term
	// docs are the terms of each tool, sorted by term.
	docs [][]weight
	// names are the terms of each tool's name, in its order; heads those of its name, title and group, bodies of all else,
	// sorted.
	names, heads, bodies [][]int32
	does                 []action  // what each tool does to things
	idf                  []float64 // by term
	fuzzy                fuzzy
}

type term struct {
	text string
	// tools is how many have it, heads how many in their name, title or group, bodies how many elsewhere.
	tools, heads, bodies int
}

// weight is how much a term says of a tool: its frequency in all fields, weighted.
type weight struct {
	term  int32
	value float32
}

func newVocabulary(docs []doc) *vocabulary {
	v := &vocabulary{ids: map[string]int32{}, docs: make([][]weight, len(docs))}
	fields := make([][fieldCount][]int32, len(docs))
	var total [fieldCount]float64
	written := map[string]int32{}
	for i := range docs {
		for f, text := range docs[i].text {
			fields[i][f] = v.number(written, words(text), f == fieldName)
			total[f] += float64(len(fields[i][f]))
		}
		v.names = append(v.names, fields[i][fieldName])
		v.heads = append(v.heads, distinct(fields[i][fieldName], fields[i][fieldTitle], fields[i][fieldGroup]))
		v.bodies = append(v.bodies, distinct(fields[i][fieldLead], fields[i][fieldBody], fields[i][fieldInput]))
		for _, t := range v.heads[i] {
			v.terms[t].heads++
		}
		for _, t := range v.bodies[i] {
			v.terms[t].bodies++
		}
	}
	for i := range docs {
		v.docs[i] = weigh(fields[i], total, len(docs))
		for _, w := range v.docs[i] {
			v.terms[w.term].tools++
		}
	}
	v.does = make([]action, len(docs))
	for i, name := range v.names {
		v.does[i] = v.doing(name)
	}
	v.idf = make([]float64, len(v.terms))
	for i, t := range v.terms {
		v.idf[i] = math.Log(1 + (float64(len(docs))-float64(t.tools)+0.5)/(float64(t.tools)+0.5))
	}
	v.fuzzy = newFuzzy(written, v.terms)
	return v
}

// distinct joins lists, sorted and each once.
func distinct(lists ...[]int32) []int32 {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// number turns words into terms, and notes the term of each in written. Words that mean nothing are left out but in a
// name, which may be made of them (who_am_i).
func (v *vocabulary) number(written map[string]int32, list []string, name bool) []int32 {
	out := make([]int32, 0, len(list))
	for _, w := range list {
		if !name && stopWords[w] {
			continue
		}
		id, ok := written[w]
		if !ok {
			id = v.add(stem(w))
			written[w] = id
		}
		out = append(out, id)
	}
	return out
}

// add returns the number of a stem, a new one if need be.
func (v *vocabulary) add(stem string) int32 {
	id, ok := v.ids[stem]
	if !ok {
		id = int32(len(v.terms))
		v.ids[stem] = id
		v.terms = append(v.terms, term{text: stem})
	}
	return id
}

// weigh joins the fields of one tool.
func weigh(fields [fieldCount][]int32, total [fieldCount]float64, docs int) []weight {
	sum := map[int32]float64{}
	for f, list := range fields {
		if len(list) == 0 {
			continue
		}
		average := max(1, total[f]/float64(docs))
		b := fieldLengths[f]
		each := fieldWeights[f] / (1 - b + b*float64(len(list))/average)
		for _, id := range list {
			sum[id] += each
		}
	}
	out := make([]weight, 0, len(sum))
	for id, value := range sum {
		out = append(out, weight{id, float32(value)})
	}
	slices.SortFunc(out, func(a, b weight) int { return cmp.Compare(a.term, b.term) })
	return out
}
