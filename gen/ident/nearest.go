package ident

import (
	"cmp"
	"slices"
	"strings"
)

// longestName bounds, in bytes, the names that are compared. No identifier is longer, and the work grows with the square of the length.
const longestName = 200

// Nearest returns up to most of the candidates of which name may be a misspelling, the likeliest first. Names are compared by edit distance
// after [Fold]; the limit is a third of the name's length. A candidate that contains the name, or is contained in it, also counts as near.
// Equal candidates are returned once.
func Nearest(name string, candidates []string, most int) []string {
	type near struct {
		name     string
		distance int // number of edits, reduced for a part or an abbreviation of the name
		edits    int
	}
	wanted := Fold(name)
	if wanted == "" || len(wanted) > longestName {
		return nil
	}
	limit := len(wanted) / 3
	var found []near
	for _, c := range candidates {
		have := Fold(c)
		if len(have) > longestName {
			continue
		}
		edits := Distance(wanted, have)
		d := edits
		switch {
		case contains(have, wanted) || contains(wanted, have):
			d = min(d, 1)
		case abbreviates(wanted, have) || abbreviates(have, wanted):
			d = min(d, 2)
		}
		if d <= limit && !slices.Contains(found, near{c, d, edits}) {
			found = append(found, near{c, d, edits})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.edits, b.edits), strings.Compare(a.name, b.name))
	})
	names := make([]string, 0, most)
	for _, n := range found[:min(most, len(found))] {
		if n.distance <= found[0].distance+1 { // drop distant candidates if there is a near one
			names = append(names, n.name)
		}
	}
	return names
}

// NearestTools is [Nearest] for tool ids, which have the form server__tool. If name includes a server, the tool's part is compared first,
// because the server says nothing about the tool. Otherwise the whole id is compared.
func NearestTools(name string, ids []string, most int) []string {
	byTool := map[string][]string{}
	tools := make([]string, len(ids))
	for i, id := range ids {
		_, tools[i], _ = strings.Cut(id, "__")
		byTool[tools[i]] = append(byTool[tools[i]], id)
	}
	_, tool, qualified := strings.Cut(name, "__")
	if !qualified {
		if near := Nearest(name, ids, most); len(near) > 0 {
			return near
		}
		tool = name
	}
	var near []string
	for _, t := range Nearest(tool, tools, most) {
		near = append(near, byTool[t]...)
	}
	if len(near) == 0 && qualified {
		return Nearest(name, ids, most)
	}
	return near[:min(len(near), most)]
}

// contains reports whether part is in whole and is long enough to be meaningful.
func contains(whole, part string) bool { return len(part) >= 4 && strings.Contains(whole, part) }

// abbreviates reports whether short is long with letters left out, as doc_id is document_id.
func abbreviates(short, long string) bool {
	if len(short) < 4 || len(short) > len(long) || 2*len(short) < len(long) || short[0] != long[0] {
		return false
	}
	for i := range len(long) {
		if short != "" && short[0] == long[i] {
			short = short[1:]
		}
	}
	return short == ""
}

// Fold returns name in lower case and without separators, which people seldom remember. Two names with the same result
// may stand for the same thing.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-/. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Distance returns the edit distance of a and b: how many bytes must be inserted, removed, replaced or swapped with
// their neighbour to turn a into b (optimal string alignment). The time grows with the product of their lengths.
func Distance(a, b string) int {
	previous, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], previous[j-1]+1)
			}
		}
		previous, last, row = last, row, previous
	}
	return last[len(b)]
}
