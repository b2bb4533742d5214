package upstream

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// Identity is a digest of what decides which server answers, and as whom it is used: its configuration with the values of its variables,
// what it inherits from the environment, the login, and, for a command, this machine. It is made of secrets: whoever keeps it hashes it with
// a key first. The zero value is not an identity.
type Identity [sha256.Size]byte

// Origin says where an answer comes from. Read it after the call has returned.
type Origin struct {
	// Identity is that of the session which has answered, or zero if it has changed during the call.
	Identity Identity

	asked atomic.Bool
}

// Asked reports whether the server has asked for anything before it answered, such as an input of a person.
func (o *Origin) Asked() bool { return o.asked.Load() }

// Identity returns the identity with which a server would be used now. It reads the configuration's files and the stored login.
func (p *Pool) Identity(key string) (Identity, error) {
	m, ok := p.members[key]
	if !ok {
		return Identity{}, fmt.Errorf("server %q: %w", key, ErrUnknownServer)
	}
	expanded, _, err := redact.Expand(m.srv, p.opts.Lookup)
	if err != nil {
		return Identity{}, err
	}
	login := ""
	if p.opts.Logins != nil && usesLogin(expanded) {
		login = p.opts.Logins.Identity(oauthServer(expanded))
	}
	return configured(expanded, p.opts.Lookup).as(login), nil
}

// usesLogin reports whether requests to an expanded server have the token of a stored login.
func usesLogin(srv config.Server) bool {
	return srv.Transport != config.TransportStdio && !hasCredentials(srv) && !oauthServer(srv).ByClient
}

// configured returns the part of an identity that does not change during a session. The server is an expanded one.
func configured(srv config.Server, lookup config.Lookup) Identity {
	type openOAuth config.OAuth // encoding a config.OAuth hides what may be secret
	parts := []any{srv.Key, srv.Transport, srv.Command, srv.Args, srv.Env, srv.Cwd, srv.URL, srv.Headers, (*openOAuth)(srv.OAuth)}
	if srv.Transport == config.TransportStdio {
		host, _ := os.Hostname()
		parts = append(parts, host)
		for _, name := range stdio.InheritedNames() {
			if lookup != nil {
				value, ok := lookup(name)
				parts = append(parts, value, ok)
			}
		}
	}
	text, err := json.Marshal(parts)
	if err != nil { // it has texts only
		panic(err)
	}
	return sha256.Sum256(text)
}

// as returns the identity with a login.
func (i Identity) as(login string) Identity {
	return sha256.Sum256(append(i[:], login...))
}

// identity returns the identity of the session now.
func (s *Session) identity() Identity {
	if s.login == nil {
		return s.configured.as("")
	}
	return s.configured.as(s.login())
}

// noting sends a request and notes the origin of its answer.
func noting[T any](s *Session, opt *CallOptions, send func() (T, error)) (T, error) {
	if opt == nil || opt.Origin == nil {
		return send()
	}
	before := s.identity()
	out, err := send()
	if opt.Origin.Identity = before; s.identity() != before {
		opt.Origin.Identity = Identity{}
	}
	return out, err
}

// noteAsked notes that the server has asked for something before it answers the request.
func (r *activeRequest) noteAsked() {
	if r.opt.Origin != nil {
		r.opt.Origin.asked.Store(true)
	}
}

// noteAsked notes it for all requests, since the server does not say which one it means.
func (in *inflight) noteAsked() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, r := range in.requests {
		r.noteAsked()
	}
}
