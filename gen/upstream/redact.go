package upstream

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
)

// minSecret is the length from which a value is taken out of texts. Shorter ones are words and numbers, which would
// garble every message and tell nothing.
const minSecret = 6

// minConcealed is the same for what a server lists. Its texts are documentation, where a value as short as a word is
// most likely just that word.
const minConcealed = 8

// redactor takes the values of a configuration, and the tokens of a login, out of texts that leave this package.
type redactor struct {
	mu sync.RWMutex
	// secrets are names by value; variables those of them that stand in no configuration: the values of variables, and
	// tokens. The latter are for the tree, where what stands in the configuration itself is no secret. private are, besides,
	// what the configuration has under a name that says it is a secret: for recordings, which others may get to see.
	secrets, variables, private map[string]string
	replace                     *strings.Replacer
	conceal, record             *strings.Replacer // nil when there is nothing to take out
}

// add makes a token known, under a name.
func (r *redactor) add(value, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(value) < minConcealed || r.variables[value] != "" {
		return
	}
	r.secrets[value], r.variables[value], r.private[value] = "["+name+"]", "["+name+"]", "["+name+"]"
	r.replace, r.conceal, r.record = newReplacer(r.secrets), newReplacer(r.variables), newReplacer(r.private)
}

// concealer returns what takes variables out of texts for files, nil when there is nothing to take out.
func (r *redactor) concealer() *strings.Replacer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.conceal
}

// recorder returns what takes secrets out of recordings, nil when there is nothing to take out.
func (r *redactor) recorder() *strings.Replacer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.record
}

// expand expands a server's variables and returns with it a redactor that knows every value that must not show: those
// of the variables, and whatever env and headers hold.
func expand(srv config.Server, lookup config.Lookup) (config.Server, *redactor, error) {
	r := &redactor{secrets: make(map[string]string), variables: make(map[string]string), private: make(map[string]string)}
	note := func(value, name string) {
		if len(value) >= minSecret {
			r.secrets[value] = "[" + name + "]"
		}
	}
	literal := func(value, name string) {
		if len(value) >= minConcealed && r.private[value] == "" {
			r.private[value] = "[" + name + "]"
		}
	}
	eachLiteral(srv, literal) // where a variable is missing there is nothing expanded
	expanded, err := srv.ExpandNoting(lookup, func(name, value string) {
		note(value, name)
		if len(value) >= minConcealed {
			r.variables[value], r.private[value] = "["+name+"]", "["+name+"]"
		} else if len(value) >= minSecret && namesSecret(name) {
			r.private[value] = "[" + name + "]"
		}
	})
	eachLiteral(expanded, literal)
	for name, value := range expanded.Env {
		note(value, name)
	}
	for name, value := range expanded.Headers {
		note(value, name)
		note(credential(value), name)
	}
	if expanded.OAuth != nil {
		note(expanded.OAuth.ClientSecret, "client secret")
	}
	r.replace = newReplacer(r.secrets)
	if len(r.variables) > 0 {
		r.conceal = newReplacer(r.variables)
	}
	if len(r.private) > 0 {
		r.record = newReplacer(r.private)
	}
	return expanded, r, err
}

// newReplacer makes a replacer of secrets by their names, in all their forms.
func newReplacer(secrets map[string]string) *strings.Replacer {
	names := maps.Clone(secrets)
	for value, name := range secrets {
		for _, form := range forms(value) {
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

func (r *redactor) clean(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.replace.Replace(s)
}
