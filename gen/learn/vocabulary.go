package learn

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

//go:embed words.txt
var wordsText string

// commonWords are the words of words.txt.
var commonWords = sync.OnceValue(func() map[string]bool {
	_, text, _ := strings.Cut(wordsText, "\n") // the first line is a comment
	out := map[string]bool{}
	for _, word := range strings.Fields(text) {
		out[word] = true
	}
	return out
})

const (
	maxWordParts = 6 // words of one name
	maxNameBytes = 48
)

// identifier matches names of members as programs give them. Only ASCII: names of people in other scripts must not pass.
var identifier = regexp.MustCompile(`^[@$_]{0,2}[A-Za-z0-9]+(?:[_.:-][A-Za-z0-9]+)*_?$`)

// part matches a word of a name, with digits around it as they number or measure something: temperature_10m, line1. A bare number is no
// word, and a word with more digits behind it may be a password.
var part = regexp.MustCompile(`^[0-9]{0,2}[A-Za-z]+[0-9]?$`)

// isKnown reports whether a name consists of words that names of members are made of: common ones, and those for which known reports
// true. Whatever else a name looks like, it may be a person's, or a secret.
func isKnown(name string, known func(word string) bool) bool {
	if len(name) > maxNameBytes || !identifier.MatchString(name) || dataName().MatchString(name) {
		return false
	}
	words := wordsOf(name)
	if len(words) == 0 || len(words) > maxWordParts {
		return false
	}
	short := 0
	for _, word := range words {
		bare := strings.ToLower(strings.Trim(word, "0123456789"))
		if !part.MatchString(word) || len(bare) > 1 && !known(bare) && !commonWords()[bare] {
			return false
		}
		if len(bare) == 1 {
			short++
		}
	}
	return short*2 <= len(words) || len(words) == 1 // and not aGVsbG8gd29y
}

// wordsOf splits a name: user_id, userId, UserID and user-id into user and id.
func wordsOf(name string) []string {
	var out []string
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_.:-@$", r) }) {
		start := 0
		for i := 1; i < len(piece); i++ {
			lower, upper := isLower(piece[i-1]), unicode.IsUpper(rune(piece[i]))
			last := unicode.IsUpper(rune(piece[i-1])) && upper && i+1 < len(piece) && isLower(piece[i+1]) // HTMLText
			if lower && upper || last {
				out, start = append(out, piece[start:i]), i
			}
		}
		out = append(out, piece[start:])
	}
	return out
}

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }

var (
	quoted    = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'|“[^”\n]*”`)
	lowerWord = regexp.MustCompile(`\b[a-z][a-z0-9]*(?:_[a-z0-9]+)*\b|\b[a-z]+(?:[A-Z][a-z0-9]*)+\b`)
)

// Words returns the words of a tool's definition that names of members in its replies may contain. They come from its name, its parameters,
// and the lower-case words of its description outside quotation marks, because a quoted text may be an example of data.
func Words(description string, input json.RawMessage, names ...string) map[string]bool {
	out := map[string]bool{}
	add := func(name string) {
		for _, word := range wordsOf(name) {
			out[strings.ToLower(strings.Trim(word, "0123456789"))] = true
		}
	}
	for _, name := range names {
		add(name)
	}
	if schema, err := jsonschema.Parse(input, jsonschema.Unlimited); err == nil {
		for part := range jsonschema.NewDocument(schema).Homes {
			for _, property := range part.Get("properties").Sorted() {
				add(property.Key)
			}
		}
	}
	const most = 4000 // bytes of a description
	text := description[:min(len(description), most)]
	for _, name := range lowerWord.FindAllString(quoted.ReplaceAllString(text, " "), -1) {
		add(name)
	}
	delete(out, "")
	return out
}
