package searchtest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// Substring is the simplest search: it finds the tools with the most words of the question in their names and descriptions, as parts of the
// text, ignoring case. Equal ones are sorted by id.
func Substring(c *catalog.Catalog) Find {
	type text struct{ id, text string }
	var texts []text
	for i := range c.Servers {
		for _, t := range c.Servers[i].Tools {
			texts = append(texts, text{t.ID, strings.ToLower(t.Name + "\n" + t.Description)})
		}
	}
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(a.id, b.id) })
	return func(_ context.Context, wordings []string, limit int) ([]string, error) {
		type found struct {
			id    string
			words int
		}
		wanted := plainWords(strings.Join(wordings, " "))
		var list []found
		for _, t := range texts {
			n := 0
			for _, w := range wanted {
				if strings.Contains(t.text, w) {
					n++
				}
			}
			if n > 0 {
				list = append(list, found{t.id, n})
			}
		}
		slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(b.words, a.words) })
		out := make([]string, 0, limit)
		for _, f := range list[:min(limit, len(list))] {
			out = append(out, f.id)
		}
		return out, nil
	}
}

// plainWords splits a text into runs of letters and digits, in lower case.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
