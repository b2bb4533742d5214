package ir

import (
	"slices"
	"strings"
	"unicode"
)

// Doc is what a schema says about a value in addition to its type. All of it is hostile text.
type Doc struct {
	Title, Description string
	// Limits are short phrases in the order of the JSON Schema specification: "1..100", "format date".
	Limits     []string
	Deprecated bool
}

// Add adds what only other says.
func (d *Doc) Add(other Doc) {
	d.AddDescription(other.Description)
	if d.Title == "" {
		d.Title = other.Title
	}
	for _, limit := range other.Limits {
		if !slices.Contains(d.Limits, limit) {
			d.Limits = append(slices.Clip(d.Limits), limit)
		}
	}
	d.Deprecated = d.Deprecated || other.Deprecated
}

// AddDescription adds text to the description. If one of the two has all words of the other, in their order, it replaces
// both.
func (d *Doc) AddDescription(text string) {
	have := strings.TrimSpace(d.Description)
	text = strings.TrimSpace(text)
	switch {
	case containsWords(have, text):
	case containsWords(text, have):
		d.Description = text
	case strings.ContainsRune(".!?:;", rune(have[len(have)-1])):
		d.Description = have + " " + text
	default:
		d.Description = have + "; " + text
	}
}

// containsWords reports whether text contains all words of part in their order.
func containsWords(text, part string) bool {
	rest := fields(part)
	for _, word := range fields(text) {
		if len(rest) > 0 && word == rest[0] {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

// fields returns the words of a text in lower case.
func fields(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}
