package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/circuit"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

// ErrUnknownServer is returned for a server that NewPool was not given.
var ErrUnknownServer = errors.New("no such server is configured")

// errPoolClosed ends attempts to connect when the pool closes.
var errPoolClosed = errors.New("the pool is closed")

// Pool connects to servers when they are first needed and shares the sessions. It remembers which protocol era each server
// speaks. The next call restarts a server that has ended. After repeated failures there is a growing pause before a restart,
// and after several within a minute no restart for a while ([ErrCircuitOpen]). An unused session is ended after
// [Options.IdleExpiry]. A server whose questions do not say which call they belong to gets a session for each owner of calls
// in flight. A Pool may be used from several goroutines at once.
type Pool struct {
	opts    *Options
	members map[string]*member // fixed by NewPool

	ctx  context.Context // ends attempts to connect when the pool closes
	end  context.CancelCauseFunc
	work sync.WaitGroup // attempts, and sessions being closed

	mu     sync.Mutex
	closed bool
}

// member is one server of a pool, or a further session at it. The pool's mutex guards its fields.
type member struct {
	srv     config.Server
	era     era
	session *Session
	since   time.Time // of the session
	attempt *attempt  // nil if none is being made
	circuit *circuit.Circuit

	asksAside bool        // the server has asked a question that did not say which call it belongs to
	owners    map[any]int // of the calls in flight, with the number of their calls
	spares    []*member   // further sessions; nil for a spare itself

	users  int           // requests in flight, also those that wait for a session
	used   time.Time     // when the last of them ended
	expiry time.Duration // how long a session is kept that nobody uses; 0: it does not expire
	idle   *time.Timer   // nil without a session that expires

	secret          *redact.Redactor // of the last session, else of the configuration; nil until it is needed
	connects, calls int
}

// attempt is one try to connect, shared by all callers that wait for it.
type attempt struct {
	done    chan struct{}
	session *Session // valid after done
	err     error
}

// NewPool makes a pool of servers as they are configured, variables not expanded. Nothing is connected yet.
func NewPool(servers []config.Server, opts *Options) *Pool {
	p := &Pool{opts: opts.withDefaults(), members: make(map[string]*member, len(servers))}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	for _, srv := range servers {
		p.members[srv.Key] = &member{srv: srv, circuit: circuit.New(), owners: make(map[any]int), expiry: p.opts.IdleExpiry}
	}
	return p
}

// Connect returns the server's session, and makes one if there is none or it was lost. Callers at the same time share
// one attempt, which goes on, within its own limit, when they give up: later callers may need it. The session belongs to
// the pool: do not close it. It may expire unless it is used through the pool's own methods.
func (p *Pool) Connect(ctx context.Context, key string) (*Session, error) {
	m, ok := p.members[key]
	if !ok {
		return nil, fmt.Errorf("server %q: %w", key, ErrUnknownServer)
	}
	s, err := p.enter(ctx, m)
	if err == nil {
		p.leave(m)
	}
	return s, err
}

// enter returns the session for one request, which must call leave at its end.
func (p *Pool) enter(ctx context.Context, m *member) (*Session, error) {
	s, a, err := p.join(m)
	if s != nil || err != nil {
		return s, err
	}
	Waits(ctx, WaitStart)
	select {
	case <-a.done:
		if a.err == nil {
			Waits(ctx, WaitAnswer)
			return a.session, nil
		}
		err = a.err
	case <-ctx.Done():
		err = interrupted(ctx, fmt.Sprintf("connect to %q", m.srv.Key))
	}
	p.leave(m)
	return nil, err
}

// join returns the live session, or the attempt to wait for. It counts the caller as a user, so that the session does not
// expire before it is used.
func (p *Pool) join(m *member) (*Session, *attempt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, p.closedError(m)
	}
	if s := m.session; s != nil && s.Lost() {
		p.lose(m, s, "the server went away")
	}
	if err := openError(m); err != nil {
		return nil, nil, err
	}
	m.users++
	if m.session != nil {
		return m.session, nil, nil
	}
	if m.attempt == nil {
		a := &attempt{done: make(chan struct{})}
		m.attempt = a
		delay, known := m.circuit.StartDelay(), m.era
		p.work.Go(func() { p.try(m, a, delay, known) })
	}
	return nil, m.attempt, nil
}

// openError returns the error of a server whose circuit is open, or nil if it is closed.
func openError(m *member) error {
	retryAt := m.circuit.RetryAt()
	if retryAt.IsZero() {
		return nil
	}
	return &ConnectionError{
		Server: m.srv.Key, NotSent: true, RetryAt: retryAt,
		Reason: fmt.Sprintf("it failed repeatedly and is left alone; it is tried again in %v; the last failure: %s", max(time.Until(retryAt).Round(time.Second), time.Second), m.circuit.LastFailure()),
	}
}

func (p *Pool) closedError(m *member) error {
	return &ConnectionError{Server: m.srv.Key, Reason: errPoolClosed.Error(), NotSent: true}
}

// lose takes a lost session out of the pool. It is a failure of the server unless the server merely forgot the session. The
// mutex is held.
func (p *Pool) lose(m *member, s *Session, reason string) {
	m.drop()
	if !s.http.Forgotten() {
		m.circuit.Fail(reason)
	}
	p.work.Go(func() { s.Close() })
}

// try connects after a delay and wakes all callers that wait.
func (p *Pool) try(m *member, a *attempt, delay time.Duration, known era) {
	var (
		s     *Session
		found era
		err   error
	)
	if pause(p.ctx, delay) {
		s, found, err = connect(p.ctx, m.srv, p.opts, known)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m.attempt = nil
	switch {
	case p.closed:
		a.err = p.closedError(m)
		if s != nil {
			p.work.Go(func() { s.Close() })
		}
	case err != nil:
		var gone *ConnectionError
		if errors.As(err, &gone) {
			gone.NotSent = true
		}
		a.err = err
		m.era = eraUnknown // the server may have changed
		if reason, failed := failureReason(err); failed {
			m.circuit.Fail(reason)
		}
	default:
		m.session, m.era, m.secret, a.session = s, found, s.errs.secret, s
		if m.asksAside {
			s.inflight.asksAside.Store(true)
		}
		m.since = time.Now()
		m.used = m.since
		m.connects++
		if m.expiry > 0 && m.idle == nil {
			m.idle = time.AfterFunc(m.expiry, func() { p.expire(m) })
		} else if m.idle != nil {
			m.idle.Reset(m.expiry)
		}
	}
	close(a.done)
}

// failureReason returns the reason of an error of connecting, and whether the server failed: a login that is missing, or
// a caller that gives up, is not a failure of the server.
func failureReason(err error) (string, bool) {
	var gone *ConnectionError
	if errors.As(err, &gone) {
		return gone.Reason, !gone.Login
	}
	var refused *ProtocolError
	if errors.As(err, &refused) {
		return refused.Error(), true
	}
	return "", false
}

// expire ends the session if nobody has used it for long enough. Each request that ends starts the wait again.
func (p *Pool) expire(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := m.session
	if p.closed || s == nil || m.users > 0 || time.Since(m.used) < m.expiry {
		return
	}
	m.drop()
	s.log.Debug("nobody uses the session; it is ended")
	p.work.Go(func() { s.Close() })
}

// Call calls a tool of a server, and connects first if necessary. A call that fails because the session was lost returns
// a *ConnectionError, and the next call connects again. Only if the server cannot have acted on the call is it made a
// second time here; the caller knows whether another repetition does harm: see [ConnectionError.NotSent].
func (p *Pool) Call(ctx context.Context, key, tool string, args json.RawMessage, opt *CallOptions) (*CallResult, error) {
	return through(ctx, p, key, ownerOf(opt), func(s *Session) (*CallResult, error) {
		return noting(s, opt, func() (*CallResult, error) { return s.Call(ctx, tool, args, opt) })
	})
}

// through uses a server's session, and a second session if the first was lost before the server could act. owner is the
// owner of a call, or nil for a list, which may safely be requested twice.
func through[T any](ctx context.Context, p *Pool, key string, owner any, use func(*Session) (T, error)) (out T, err error) {
	m, ok := p.members[key]
	if !ok {
		return out, fmt.Errorf("server %q: %w", key, ErrUnknownServer)
	}
	if owner != nil {
		m = p.assign(m, owner)
		defer p.unassign(m, owner)
	}
	for try := range 2 {
		s, enterErr := p.enter(ctx, m)
		if enterErr != nil {
			return out, enterErr
		}
		out, err = use(s)
		p.note(m, s, err)
		p.leave(m)
		var gone *ConnectionError
		if try > 0 && errors.As(err, &gone) && gone.NotSent && s.http.Forgotten() {
			refused := *gone // the server refuses the request, not the session
			refused.NotSent, refused.Reason = false, "the server does not know the session that it has just begun: "+gone.Reason
			return out, &refused
		}
		if !errors.As(err, &gone) || !gone.NotSent && owner != nil || !s.Lost() {
			break
		}
	}
	return out, err
}

// note records the outcome of a request.
func (p *Pool) note(m *member, s *Session, err error) {
	var gone *ConnectionError
	failed := errors.As(err, &gone)
	p.mu.Lock()
	defer p.mu.Unlock()
	m.calls++
	switch {
	case p.closed || m.session != s:
	case failed && s.Lost():
		p.lose(m, s, gone.Reason)
	case failed && (gone.NotSent || gone.down) && !gone.Login:
		m.circuit.FailRequest(gone.Reason)
	case err == nil:
		m.circuit.Succeed()
	}
}

// leave ends a request.
func (p *Pool) leave(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.users--
	m.used = time.Now()
	if m.idle != nil {
		m.idle.Reset(m.expiry)
	}
}

// Conceal replaces secrets in text by their names in brackets: the values of the variables of all configured servers,
// connected or not, the tokens of logins, and what the configuration has under a name that says it is a secret.
func (p *Pool) Conceal(text string) string {
	for _, secret := range p.secrets() {
		text = secret.ConcealRecording(text)
	}
	return text
}

// secrets returns the secrets of all servers, by name.
func (p *Pool) secrets() []*redact.Redactor {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*redact.Redactor, 0, len(p.members))
	for _, key := range slices.Sorted(maps.Keys(p.members)) {
		for _, m := range p.members[key].all() {
			if m.secret == nil {
				_, m.secret, _ = redact.Expand(m.srv, p.opts.Lookup) // connecting reports a variable without a value
			}
			out = append(out, m.secret)
		}
	}
	return out
}

// Close ends every session, all at the same time, and returns when they are gone. Later calls fail.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.end(errPoolClosed)
	for _, server := range p.members {
		for _, m := range server.all() {
			if m.idle != nil {
				m.idle.Stop()
			}
			if s := m.session; s != nil {
				m.session = nil
				p.work.Go(func() { s.Close() })
			}
		}
	}
	p.mu.Unlock()
	p.work.Wait()
	return nil
}
