package text

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// Field returns the documentation of a property: its description, or a title that adds to its name, and its limits. If integer is set, the
// text adds that the number is an integer, for languages whose types do not say so. stored is as for [Cut].
func Field(name string, d ir.Doc, integer bool, stored string) string {
	text := Body(d.Description, stored)
	if text == "" && !SameWords(d.Title, name) {
		text = Body(d.Title, stored)
	}
	limits := slices.DeleteFunc(slices.Clone(d.Limits), func(l string) bool { return repeats(text, l) })
	if integer && !strings.Contains(strings.ToLower(text+strings.Join(limits, " ")), "integer") {
		limits = append([]string{"integer"}, limits...)
	}
	if d.Deprecated {
		limits = append([]string{"deprecated"}, limits...)
	}
	switch list := strings.Join(limits, ", "); {
	case list == "":
		return text
	case text == "":
		return list
	default:
		return text + " (" + list + ")"
	}
}

// repeats reports whether text already mentions limit: a default with its value, or bounds with all of their numbers.
func repeats(text, limit string) bool {
	lower := strings.ToLower(text)
	if value, ok := strings.CutPrefix(limit, "default "); ok {
		return strings.Contains(lower, "default") && strings.Contains(lower, strings.ToLower(strings.Trim(value, `"`)))
	}
	if !boundWords.MatchString(lower) || !boundLimit.MatchString(limit) {
		return false
	}
	said := boundNumbers.FindAllString(text, -1)
	return !slices.ContainsFunc(boundNumbers.FindAllString(limit, -1), func(n string) bool { return !slices.Contains(said, n) })
}

var (
	boundWords   = regexp.MustCompile(`\b(min|max|minimum|maximum|least|most|between|from|up to|range|greater|less|positive|than)\b|[<>≤≥]|\d ?(-|–|to|\.\.) ?\d`)
	boundLimit   = regexp.MustCompile(`^(at least |at most |[<>]=? |-?[\d.]+\.\.)`)
	boundNumbers = regexp.MustCompile(`\d+`) // in a range, - is not a sign
)

// IsInteger reports whether the numbers in t, or in lists in t, are all integers, and there are some.
func IsInteger(t ir.Type) bool {
	switch t := t.(type) {
	case ir.Number:
		return t.Integer
	case ir.Array:
		return IsInteger(t.Elem)
	case ir.Union:
		return slices.ContainsFunc(t.Members, IsInteger)
	}
	return false
}

// SameWords reports whether two names differ only in case and punctuation.
func SameWords(a, b string) bool {
	squash := func(s string) string { return strings.ReplaceAll(ident.Snake(s), "_", "") }
	return a == "" || squash(a) == squash(b)
}

// Body returns text as it appears in documentation, at most [Max] characters of it. stored is as for [Cut].
func Body(text, stored string) string {
	if len(text) <= MaxRead {
		text = strings.Join(Tidy(text), "\n")
	}
	return strings.Join(Tidy(Cut(text, Max, stored)), "\n")
}
