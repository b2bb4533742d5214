package upstream

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// minSecret is the length from which a value is taken out of texts. Shorter ones are words and numbers, which would
// garble every message and tell nothing.
const minSecret = 6

// redactor takes the values of a configuration out of texts that leave this package.
type redactor struct{ replace *strings.Replacer }

// expand expands a server's variables and returns with it a redactor that knows every value that must not show: those
// of the variables, and whatever env and headers hold.
func expand(srv config.Server, lookup config.Lookup) (config.Server, *redactor, error) {
	secrets := make(map[string]string)
	note := func(value, name string) {
		if len(value) >= minSecret {
			secrets[value] = "[" + name + "]"
		}
	}
	expanded, err := srv.Expand(func(name string) (string, bool) {
		value, ok := lookup(name)
		if ok {
			note(value, name)
		}
		return value, ok
	})
	for name, value := range expanded.Env {
		note(value, name)
	}
	for name, value := range expanded.Headers {
		note(value, name)
		if _, token, found := strings.Cut(value, " "); found { // "Bearer TOKEN"
			note(token, name)
		}
	}
	return expanded, newRedactor(secrets), err
}

func newRedactor(secrets map[string]string) *redactor {
	values := make([]string, 0, len(secrets))
	for value := range secrets {
		values = append(values, value)
	}
	// The longest first, so that a value that holds another is taken out whole.
	slices.SortFunc(values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(values))
	for _, value := range values {
		pairs = append(pairs, value, secrets[value])
	}
	return &redactor{replace: strings.NewReplacer(pairs...)}
}

func (r *redactor) clean(s string) string { return r.replace.Replace(s) }
