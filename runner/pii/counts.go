package pii

import (
	"context"
	"regexp"
	"strings"
	"sync"
)

// Counts returns the number of values in the vault by type, and nothing of the values.
func (v *Vault) Counts() (Found, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(context.Background()); err != nil {
		return nil, err
	}
	out := Found{}
	for _, e := range v.ledger.entries {
		if e.As != asItself {
			out[e.Type]++
		}
	}
	return out, nil
}

// Tokens returns the distinct tokens in a text, in their order, such as [EMAIL_1].
func Tokens(text string) (list []string) {
	seen := map[string]bool{}
	for start, end := nextToken(text, 0); start >= 0; start, end = nextToken(text, end) {
		if token := text[start:end]; !seen[token] {
			seen[token] = true
			list = append(list, token)
		}
	}
	return list
}

// privateToken is a token of [NewPrivate].
var privateToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([A-Z_]+) #[0-9]+\]`) })

// CountPrivate counts the tokens in texts that a Tokenizer of [NewPrivate] has masked, by type.
func CountPrivate(texts ...string) map[string]int {
	out := map[string]int{}
	for _, text := range texts {
		for _, found := range privateToken().FindAllStringSubmatch(text, -1) {
			out[found[1]]++
		}
	}
	return out
}

// CountTokens counts the tokens in texts that an outlet has masked, by type. Tokens of texts that only looked like one do not count.
func CountTokens(texts ...string) map[string]int {
	out := map[string]int{}
	for _, text := range texts {
		for start, end := anyToken(text, 0); start >= 0; start, end = anyToken(text, end) {
			name := strings.TrimSuffix(strings.TrimRight(text[start+1:end-1], "0123456789"), "_")
			if name != string(literalType) {
				out[name]++
			}
		}
	}
	return out
}
