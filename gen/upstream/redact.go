package upstream

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// minSecret is the length from which a value is taken out of texts. Shorter ones are words and numbers, which would
// garble every message and tell nothing.
const minSecret = 6

// minConcealed is the same for what a server lists. Its texts are documentation, where a value as short as a word is
// most likely just that word.
const minConcealed = 8

// redactor takes the values of a configuration out of texts that leave this package.
type redactor struct {
	replace *strings.Replacer
	// conceal knows the values of variables only, for what is written to files: what stands in the configuration
	// itself is no secret there. Nil when there are none.
	conceal *strings.Replacer
}

// expand expands a server's variables and returns with it a redactor that knows every value that must not show: those
// of the variables, and whatever env and headers hold.
func expand(srv config.Server, lookup config.Lookup) (config.Server, *redactor, error) {
	secrets, variables := make(map[string]string), make(map[string]string)
	note := func(value, name string) {
		if len(value) >= minSecret {
			secrets[value] = "[" + name + "]"
		}
	}
	expanded, err := srv.Expand(func(name string) (string, bool) {
		value, ok := lookup(name)
		if ok {
			note(value, name)
			if len(value) >= minConcealed {
				variables[value] = "[" + name + "]"
			}
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
	r := &redactor{replace: newReplacer(secrets)}
	if len(variables) > 0 {
		r.conceal = newReplacer(variables)
	}
	return expanded, r, err
}

// newReplacer makes a replacer of secrets by their names: as they are, and as they look quoted or in an address.
func newReplacer(secrets map[string]string) *strings.Replacer {
	names := maps.Clone(secrets)
	for value, name := range secrets {
		quoted := strconv.Quote(value)
		for _, form := range []string{quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value)} {
			if _, known := names[form]; !known {
				names[form] = name
			}
		}
	}
	values := make([]string, 0, len(names))
	for value := range names {
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
		pairs = append(pairs, value, names[value])
	}
	return strings.NewReplacer(pairs...)
}

func (r *redactor) clean(s string) string { return r.replace.Replace(s) }
