package skill

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxQuery bounds a query, in bytes.
const maxQuery = 1000

// Search returns the skills that a query fits, the best first: by its words in the names, then in the descriptions; equal
// ones by name. A skill that works comes before one that does not. An empty query fits all.
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

// score tells how well a skill fits. Each word counts once, where it fits best; more words count more than better places.
func score(k *Skill, wanted []string) int {
	name, description := wordsOf(k.Name), wordsOf(k.Description)
	sum := 0
	for _, w := range wanted {
		switch {
		case slices.Contains(name, w):
			sum += 16
		case slices.ContainsFunc(name, func(n string) bool { return alike(n, w) }):
			sum += 14
		case slices.Contains(description, w):
			sum += 12
		case slices.ContainsFunc(description, func(n string) bool { return alike(n, w) }):
			sum += 10
		}
	}
	return sum
}

// alike tells whether words may be forms of one: sheet and sheets, save and saving.
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

// stops are words that say nothing of a skill.
var stops = []string{"a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "as", "with", "from", "by", "it", "is", "that", "this", "how", "do", "i", "my", "me"}

// wordsOf splits a text or a name into lower-case words without the commonest.
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
