package upstream

import (
	"slices"
	"time"
)

// In the older protocol era a question of a server does not say which call it belongs to. Over HTTP, the stream in which
// it comes shows the call, unless the server uses the stream that belongs to no request. Over pipes, nothing does. A
// server that has asked such a question gets a session for each owner of calls, so that all calls in a session have one
// owner.

const (
	// maxSpares bounds the additional sessions at one server. When all are in use, calls share the first session again,
	// and its questions are declined.
	maxSpares = 7
	// spareExpiry is how long an unused additional session is kept.
	spareExpiry = time.Minute
)

// ownerOf returns the owner of a call; a call without one is its own.
func ownerOf(opt *CallOptions) any {
	if opt == nil || opt.Owner == nil {
		return new(byte)
	}
	return opt.Owner
}

// all returns the member and its spares.
func (m *member) all() []*member { return append([]*member{m}, m.spares...) }

// drop forgets the session, but remembers how the server asks questions.
func (m *member) drop() {
	m.asksAside = m.needsOwnSession()
	m.session = nil
}

// needsOwnSession reports whether the questions of the server do not say which call they belong to.
func (m *member) needsOwnSession() bool {
	return m.asksAside || m.session != nil && m.session.inflight.asksAside.Load()
}

// assign returns the member through which a call is made, and notes the call. The caller must call unassign at the end.
func (p *Pool) assign(m *member, owner any) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := m
	if slices.ContainsFunc(m.all(), (*member).needsOwnSession) {
		out = p.own(m, owner)
	}
	out.owners[owner]++
	return out
}

// own returns a member whose session has no calls of other owners, or the server itself if there may be no more
// sessions. The mutex is held.
func (p *Pool) own(m *member, owner any) *member {
	all := m.all()
	for _, test := range []func(*member) bool{
		func(c *member) bool { return c.owners[owner] > 0 },
		func(c *member) bool { return len(c.owners) == 0 },
	} {
		if i := slices.IndexFunc(all, test); i >= 0 {
			return all[i]
		}
	}
	if len(m.spares) == maxSpares {
		return m
	}
	spare := &member{srv: m.srv, era: m.era, circuit: m.circuit, owners: make(map[any]int), expiry: spareExpiry}
	m.spares = append(m.spares, spare)
	p.opts.Logger.Info("several runs use a server whose questions do not say which run they are for; it gets one more session", "server", m.srv.Key, "sessions", len(m.spares)+1)
	return spare
}

// unassign ends a call.
func (p *Pool) unassign(m *member, owner any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.owners[owner]--; m.owners[owner] == 0 {
		delete(m.owners, owner)
	}
}
