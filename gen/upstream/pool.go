package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
)

// ErrUnknownServer is returned for a server the pool was not made with.
var ErrUnknownServer = errors.New("no such server is configured")

// errPoolClosed ends attempts that are under way when the pool closes.
var errPoolClosed = errors.New("the pool is closed")

// Pool connects to servers when they are first needed and shares the sessions. It remembers which protocol era each
// server speaks. It may be used from several goroutines at once.
type Pool struct {
	opts    *Options
	members map[string]*member // fixed by NewPool

	ctx  context.Context // ends attempts to connect when the pool closes
	end  context.CancelCauseFunc
	work sync.WaitGroup // attempts, and sessions being closed

	mu     sync.Mutex
	closed bool
}

// member is one server of a pool. Its fields are guarded by the pool's mutex.
type member struct {
	srv     config.Server
	era     era
	session *Session
	attempt *attempt // nil when none is under way
}

// attempt is one try to connect, shared by everybody who waits for it.
type attempt struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int

	session *Session // after done
	err     error
}

// NewPool makes a pool over servers as they are configured, variables unexpanded. Nothing is connected yet.
func NewPool(servers []config.Server, opts *Options) *Pool {
	p := &Pool{opts: opts.withDefaults(), members: make(map[string]*member, len(servers))}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	for _, srv := range servers {
		p.members[srv.Key] = &member{srv: srv}
	}
	return p
}

// Connect returns the server's session, and makes it if there is none or it was lost. Callers at the same time share
// one attempt, which goes on as long as one of them waits. The session belongs to the pool: do not close it.
func (p *Pool) Connect(ctx context.Context, key string) (*Session, error) {
	m, ok := p.members[key]
	if !ok {
		return nil, fmt.Errorf("server %q: %w", key, ErrUnknownServer)
	}
	s, a, err := p.join(m)
	if s != nil || err != nil {
		return s, err
	}
	select {
	case <-a.done:
		return a.session, a.err
	case <-ctx.Done():
		p.leave(m, a)
		return nil, interrupted(ctx, fmt.Sprintf("connect to %q", key))
	}
}

// join returns the live session, or the attempt to wait for.
func (p *Pool) join(m *member) (*Session, *attempt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, &ConnectionError{Server: m.srv.Key, Reason: errPoolClosed.Error(), NotSent: true}
	}
	if m.session != nil {
		if !m.session.Lost() {
			return m.session, nil, nil
		}
		lost := m.session
		m.session = nil
		p.work.Go(func() { lost.Close() })
	}
	if m.attempt == nil {
		ctx, cancel := context.WithCancel(p.ctx)
		m.attempt = &attempt{done: make(chan struct{}), cancel: cancel}
		a := m.attempt
		p.work.Go(func() { p.try(ctx, m, a) })
	}
	m.attempt.waiting++
	return nil, m.attempt, nil
}

// leave gives up waiting; the last to leave ends the attempt, and who comes later begins another.
func (p *Pool) leave(m *member, a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.waiting--
	if a.waiting == 0 {
		a.cancel()
		if m.attempt == a {
			m.attempt = nil
		}
	}
}

// try connects and tells everybody who waits.
func (p *Pool) try(ctx context.Context, m *member, a *attempt) {
	defer a.cancel()
	p.mu.Lock()
	known := m.era
	p.mu.Unlock()
	s, found, err := connect(ctx, m.srv, p.opts, known)

	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := m.attempt == a && !p.closed
	if m.attempt == a {
		m.attempt = nil
	}
	switch {
	case p.closed:
		a.err = &ConnectionError{Server: m.srv.Key, Reason: errPoolClosed.Error(), NotSent: true}
	case err != nil:
		a.err = err
		m.era = eraUnknown // the server may have changed: look again
	case wanted:
		m.session, m.era, a.session = s, found, s
	}
	if s != nil && !wanted {
		p.work.Go(func() { s.Close() })
	}
	close(a.done)
}

// Call calls a tool of a server, connecting first where that is needed. A call that fails because the session was lost
// returns the *ConnectionError, and the next one connects anew; only when the server cannot have acted on the call is
// it made a second time here.
func (p *Pool) Call(ctx context.Context, key, tool string, args json.RawMessage, opt *CallOptions) (*CallResult, error) {
	s, err := p.Connect(ctx, key)
	if err != nil {
		return nil, err
	}
	res, err := s.Call(ctx, tool, args, opt)
	var gone *ConnectionError
	if !errors.As(err, &gone) || !gone.NotSent || !s.Lost() {
		return res, err
	}
	if s, err = p.Connect(ctx, key); err != nil {
		return nil, err
	}
	return s.Call(ctx, tool, args, opt)
}

// Close ends every session, all at the same time, and returns when they are gone. Later calls fail.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.end(errPoolClosed)
	for _, m := range p.members {
		if s := m.session; s != nil {
			m.session = nil
			p.work.Go(func() { s.Close() })
		}
	}
	p.mu.Unlock()
	p.work.Wait()
	return nil
}
