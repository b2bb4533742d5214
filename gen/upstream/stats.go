package upstream

import (
	"maps"
	"slices"
	"time"
)

// State is the state of a pool's connection to a server.
type State string

const (
	StateIdle       State = "idle"       // without a session
	StateConnecting State = "connecting" // or waiting for the next attempt
	StateConnected  State = "connected"
	StateOpen       State = "open" // the circuit is open: see [ErrCircuitOpen]
)

// ServerStats describes a pool's connection to one server.
type ServerStats struct {
	Server string `json:"server"`
	State  State  `json:"state"`
	// Since is when the session was made, and LastUsed when a request ended last; zero without a session.
	Since    time.Time `json:"since,omitzero"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// InFlight counts requests in flight, Calls the requests that have ended, and Restarts the sessions that replaced an
	// earlier one.
	InFlight int `json:"inFlight"`
	Calls    int `json:"calls"`
	Restarts int `json:"restarts"`
	// Failures counts the failures of the last minute. LastFailure is the reason of the last failure, without secrets; it may
	// be empty.
	Failures    int    `json:"failures"`
	LastFailure string `json:"lastFailure,omitempty"`
	// RetryAt is when an open circuit is tried again; zero if it is closed.
	RetryAt time.Time `json:"retryAt,omitzero"`
}

// Stats returns the statistics of all servers, sorted by name.
func (p *Pool) Stats() []ServerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]ServerStats, 0, len(p.members))
	for _, key := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[key]
		s := ServerStats{Server: key, State: StateIdle, Failures: m.circuit.Failures(), LastFailure: m.circuit.LastFailure()}
		for _, one := range m.all() {
			s.InFlight += one.users
			s.Calls += one.calls
			s.Restarts += max(one.connects-1, 0)
		}
		switch {
		case m.session != nil && !m.session.Lost():
			s.State, s.Since, s.LastUsed = StateConnected, m.since, m.used
		case m.attempt != nil:
			s.State = StateConnecting
		case !m.circuit.RetryAt().IsZero():
			s.State, s.RetryAt = StateOpen, m.circuit.RetryAt()
		}
		out = append(out, s)
	}
	return out
}
