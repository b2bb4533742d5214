package skill

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxQuery limits a query in bytes.
const maxQuery = 1000

// Search returns the skills that match a query, the best first: by words in their names, then in their triggers, then in their
// descriptions, then by name. Skills that cannot work come last. An empty query matches all.
func (s *Store) Search(query string) ([]*Skill, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	wanted := wordsOf(query[:min(len(query), maxQuery)])
	if len(wanted) == 0 {
		return all, nil
	}
	scores := map[string]int{}
	found := slices.DeleteFunc(all, func(k *Skill) bool {
		scores[k.Name] = score(k, wanted)
		return scores[k.Name] == 0
	})
	slices.SortStableFunc(found, func(a, b *Skill) int {
		if a.Fatal() != b.Fatal() {
			if a.Fatal() {
				return 1
			}
			return -1
		}
		return scores[b.Name] - scores[a.Name]
	})
	return found, nil
}

// score returns how well a skill matches. Each word counts once, where it matches best; more words count more than better
// matches.
func score(k *Skill, wanted []string) int {
	fields := [][]string{wordsOf(k.Name), wordsOf(strings.Join(k.Triggers, " ")), wordsOf(k.Description)}
	sum := 0
	for _, w := range wanted {
		best := 0
		for i, field := range fields {
			switch worth := 18 - 4*i; { // a form of the word in one field is worth as much as the word itself in the next
			case slices.Contains(field, w):
				best = max(best, worth)
			case slices.ContainsFunc(field, func(n string) bool { return alike(n, w) }):
				best = max(best, worth-3)
			}
		}
		sum += best
	}
	return sum
}

// alike reports whether two words may be forms of the same word, such as sheet and sheets, or save and saving.
func alike(a, b string) bool {
	short := min(len(a), len(b))
	if short < 3 {
		return false
	}
	shared := 0
	for shared < short && a[shared] == b[shared] {
		shared++
	}
	return shared >= 3 && shared >= max(len(a), len(b))-3 && shared >= short-1
}

// stops are words that do not describe a skill.
var stops = []string{"a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "as", "with", "from", "by", "it", "is", "that", "this", "how", "do", "i", "my", "me"}

// wordsOf splits a text or a name into lower-case words, without stop words.
func wordsOf(text string) []string {
	var words []string
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		parts := []string{strings.ToLower(field)}
		if len(field) <= MaxName && isASCII(field) && strings.ToLower(field) != field {
			parts = strings.Split(ident.Snake(field), "_")
		}
		for _, p := range parts {
			if !slices.Contains(stops, p) && !slices.Contains(words, p) {
				words = append(words, p)
			}
		}
	}
	return words
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
