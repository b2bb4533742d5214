// Package lexicon has the words that tell what stands beside them.
package lexicon

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed words.txt
var wordsText string

//go:embed people.txt
var peopleText string

//go:embed ordinary.txt
var ordinaryText string

// Words returns the words of each section of words.txt, people.txt and ordinary.txt.
var Words = sync.OnceValue(func() map[string]map[string]bool {
	sections := map[string]map[string]bool{}
	var section map[string]bool
	for line := range strings.Lines(wordsText + peopleText + ordinaryText) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = map[string]bool{}
			sections[strings.Trim(line, "[]")] = section
		default:
			for w := range strings.FieldsSeq(line) {
				section[w] = true
			}
		}
	}
	return sections
})

// ordinary are the words that alone stand for too much.
var ordinary = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, section := range []string{"ordinary", "common", "department", "not-name", "person", "thing-container", "thing-sign", "no-value", "neutral", "not-secret", "filler", "legal-form", "street-word", "street-word-weak"} {
		for w := range Words()[section] {
			all[w] = true
		}
	}
	return all
})

// IsOrdinary reports whether a word, or its singular, stands too often for something else to be a name.
func IsOrdinary(w string) bool {
	w = strings.ToLower(w)
	return ordinary()[w] || ordinary()[strings.TrimSuffix(w, "s")]
}

// IsNoName reports whether a word is not part of a person's name.
func IsNoName(w string) bool {
	w = strings.ToLower(w)
	return Words()["not-name"][w] || Words()["department"][w]
}
