// Package redact removes secrets from text: the values of a server's configuration and the tokens of a login. A
// [Redactor] knows the secrets of one server, in every form in which they are usually written: quoted, in an address,
// and encoded.
//
// Text goes to three places, and each has a method of its own. Errors and logs: [Redactor.Clean] removes everything that
// is configured. The generated tree: [Redactor.Conceal] removes only what is not written in the configuration itself,
// the values of variables and tokens. Recordings, which others may see: [Redactor.ConcealRecording] also removes what
// the configuration has under a name that says it is a secret.
package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
)

const (
	// minSecret is the length in bytes from which a value is removed. Shorter values are words and numbers; removing
	// them would garble every message and protect nothing.
	minSecret = 6
	// minConcealed is the same for documentation, in which a value as short as a word most likely is that word.
	minConcealed = 8
)

// Redactor removes the secrets of one server from text. It may be used from several goroutines at once.
type Redactor struct {
	mu       sync.RWMutex
	all      group // for errors and logs
	hidden   group // values of variables, and tokens
	recorded group // those, and configured values whose name says that they are secrets
}

// group is a set of secrets that are removed together.
type group struct {
	names    map[string]string // what replaces a secret, by the secret
	replacer *strings.Replacer // nil if there is no secret
}

func (g *group) add(secret, name string) {
	if g.names == nil {
		g.names = make(map[string]string)
	}
	if g.names[secret] == "" {
		g.names[secret] = "[" + name + "]"
	}
}

// build makes the replacer of all forms of the secrets.
func (g *group) build() {
	if len(g.names) == 0 {
		return
	}
	names := maps.Clone(g.names)
	for secret, name := range g.names {
		for _, form := range forms(secret) {
			if _, known := names[form]; !known {
				names[form] = name
			}
		}
	}
	// The longest first, so that a secret which contains another one is removed whole.
	secrets := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(secrets))
	for _, secret := range secrets {
		pairs = append(pairs, secret, names[secret])
	}
	g.replacer = strings.NewReplacer(pairs...)
}

// Expand expands a server's variables and returns a Redactor that knows its secrets. The Redactor is valid even if an
// error, a *config.ExpandError, says that a variable has no value.
func Expand(srv config.Server, lookup config.Lookup) (config.Server, *Redactor, error) {
	r := &Redactor{}
	note := func(value, name string) {
		if len(value) >= minSecret {
			r.all.add(value, name)
		}
	}
	literal := func(value, name string) {
		if len(value) >= minConcealed {
			r.recorded.add(value, name)
		}
	}
	eachLiteral(srv, literal) // expanded below, unless a variable has no value
	expanded, err := srv.ExpandNoting(lookup, func(name, value string) {
		note(value, name)
		if len(value) >= minConcealed {
			r.hidden.add(value, name)
			r.recorded.add(value, name)
		} else if len(value) >= minSecret && namesSecret(name) {
			r.recorded.add(value, name)
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
	r.build()
	return expanded, r, err
}

func (r *Redactor) build() {
	r.all.build()
	r.hidden.build()
	r.recorded.build()
}

// Add makes a token known under a name, which replaces it in text.
func (r *Redactor) Add(token, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(token) < minConcealed || r.hidden.names[token] != "" {
		return
	}
	for _, g := range []*group{&r.all, &r.hidden, &r.recorded} {
		g.add(token, name)
		g.build()
	}
}

func (r *Redactor) replace(g *group, text string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if g.replacer == nil {
		return text
	}
	return g.replacer.Replace(text)
}

// Clean replaces every secret in text by its name in brackets. It is for errors and logs.
func (r *Redactor) Clean(text string) string { return r.replace(&r.all, text) }

// Conceal replaces the values of variables and the tokens of a login by their names in brackets. It is for files that
// are made from what the server says: a server may repeat a token that it was given.
func (r *Redactor) Conceal(text string) string { return r.replace(&r.hidden, text) }

// ConcealRecording does what Conceal does, and also replaces what the configuration has under a name that says it is a
// secret.
func (r *Redactor) ConcealRecording(text string) string { return r.replace(&r.recorded, text) }

// conceals reports whether Conceal has anything to replace.
func (r *Redactor) conceals() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.hidden.replacer != nil
}
