package upstream

import (
	"maps"
	"slices"
	"time"
)

// watchIdle ends the session once nobody has used it for long enough. The mutex is held.
func (p *Pool) watchIdle(m *member) {
	limit := p.opts.IdleExpiry
	if limit <= 0 {
		return
	}
	if m.idle != nil {
		m.idle.Stop()
	}
	s := m.session
	m.idle = time.AfterFunc(limit, func() { p.expire(m, s, limit) })
}

// expire ends a session that has been idle for so long, or looks again when it can have been.
func (p *Pool) expire(m *member, s *Session, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || m.session != s {
		return
	}
	left := limit
	if m.users == 0 {
		left -= time.Since(m.used)
	}
	if left > 0 {
		m.idle.Reset(left)
		return
	}
	m.session = nil
	s.log.Debug("nobody uses the session; it is ended")
	p.work.Go(func() { s.Close() })
}

// State says how a pool stands to a server.
type State string

const (
	StateIdle       State = "idle"       // there is no session, and nobody wants one
	StateConnecting State = "connecting" // or waiting for the next try
	StateConnected  State = "connected"
	StateOpen       State = "open" // the circuit is: see [ErrCircuitOpen]
)

// ServerStats is how a pool stands to one server.
type ServerStats struct {
	Server string `json:"server"`
	State  State  `json:"state"`
	// Since is when the session was made, and LastUsed when a request ended last; zero without a session.
	Since    time.Time `json:"since,omitzero"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// InFlight are requests under way, Calls all that have ended, Restarts the sessions after the first.
	InFlight int `json:"inFlight"`
	Calls    int `json:"calls"`
	Restarts int `json:"restarts"`
	// Failures are those within the last minute. LastFailure is why it failed last, without secrets; empty: it never did.
	Failures    int    `json:"failures"`
	LastFailure string `json:"lastFailure,omitempty"`
	// RetryAt is when an open circuit is tried again; zero when it is closed.
	RetryAt time.Time `json:"retryAt,omitzero"`
}

// Stats returns how the pool stands to its servers, by their names.
func (p *Pool) Stats() []ServerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	out := make([]ServerStats, 0, len(p.members))
	for _, key := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[key]
		m.health.forget(now)
		s := ServerStats{
			Server: key, State: StateIdle, InFlight: m.users, Calls: m.calls, Restarts: m.health.restarts,
			Failures: len(m.health.failures), LastFailure: m.health.last,
		}
		switch {
		case m.session != nil && !m.session.Lost():
			s.State, s.Since, s.LastUsed = StateConnected, m.since, m.used
		case m.attempt != nil:
			s.State = StateConnecting
		case m.health.until.After(now):
			s.State, s.RetryAt = StateOpen, m.health.until
		}
		out = append(out, s)
	}
	return out
}
