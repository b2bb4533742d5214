package pool

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Options configure a Pool; nil is valid.
type Options struct {
	// Min is how many guests of each shape are kept idle while the shape is in use. Zero: 1.
	Min int
	// MaxIdle bounds the idle guests of all shapes together. The shape used longest ago gives way. Zero: 8.
	MaxIdle int
	// Max bounds all guests, whether they are idle, starting, running or being removed. Zero: 64.
	Max int
	// MaxWait bounds how long Start waits: for a guest that is on its way, before it starts one the slow way, and for
	// another run to end where Max are running. Zero: 10 s. Negative: it does not wait.
	MaxWait time.Duration
	// IdleExpiry is how long a guest beyond Min may stay unused, and how long a shape is remembered that no run has.
	// Zero: 5 min.
	IdleExpiry time.Duration
	// Starts bounds how many guests are started ahead at the same time. Zero: 4.
	Starts int
	// HeadStart is how long after a guest was handed out none is started ahead, so that the run has the processors to
	// itself at first. It is not prolonged by further runs. Zero: 30 ms. Negative: none.
	HeadStart time.Duration
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	if o == nil {
		o = &Options{}
	}
	opt := *o
	opt.Max = cmp.Or(max(opt.Max, 0), 64)
	opt.MaxIdle = min(cmp.Or(max(opt.MaxIdle, 0), 8), opt.Max)
	opt.Min = min(cmp.Or(max(opt.Min, 0), 1), opt.MaxIdle)
	opt.MaxWait = cmp.Or(opt.MaxWait, 10*time.Second)
	opt.IdleExpiry = cmp.Or(max(opt.IdleExpiry, 0), 5*time.Minute)
	opt.Starts = cmp.Or(max(opt.Starts, 0), 4)
	opt.HeadStart = cmp.Or(opt.HeadStart, 30*time.Millisecond)
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return opt
}

// Pool is a warm pool over one backend. It is safe for concurrent use.
type Pool struct {
	backend sandbox.Warmer
	opt     Options
	life    context.Context // of idle guests; Close ends it
	end     context.CancelFunc
	work    sync.WaitGroup // what starts, watches and closes idle guests

	mu      sync.Mutex
	closed  bool
	shelves map[sandbox.Shape]*shelf
	waiting []*waiter             // first come, first served
	runs    map[*process]struct{} // adopted or started, until their Wait
	clock   *time.Timer           // calls tick at the next expiry or retry; nil before the first
	calm    time.Time             // the end of a run's head start
	errs    []error               // of closing idle guests
	// Guests at this moment: in shelves, on their way into one, with a run (from the moment it is promised one), and on
	// their way out.
	idle, starting, running, closing int
	launching                        int // of running: those that are being started for their run
	count                            counters
}

// New makes a Pool over backend and takes ownership of it: Close closes both. Nothing is started before the first run,
// or Keep.
func New(backend sandbox.Warmer, opt *Options) *Pool {
	p := &Pool{backend: backend, opt: opt.withDefaults(), shelves: map[sandbox.Shape]*shelf{}, runs: map[*process]struct{}{}}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

var _ sandbox.Backend = (*Pool)(nil)

// Name is that of the backend below.
func (p *Pool) Name() string { return p.backend.Name() }

// Runtime is that of the backend below.
func (p *Pool) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) { return p.backend.Runtime(lang) }

// Probe is that of the backend below.
func (p *Pool) Probe(ctx context.Context) sandbox.Status { return p.backend.Probe(ctx) }

// Sweep is that of the backend below. The pool's own guests belong to a host that is alive, this one.
func (p *Pool) Sweep(ctx context.Context) error { return p.backend.Sweep(ctx) }

// Keep has Min guests of spec's shape ready from now on, whether or not runs use them. What counts in spec is what
// [sandbox.Warmer] names.
func (p *Pool) Keep(spec sandbox.Spec) {
	shape := p.backend.Shape(spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	s := p.shelf(shape, spec)
	s.kept = true
	s.target = max(s.target, p.opt.Min)
	p.settle()
}

// Close ends the idle guests, kills those of runs (whose callers still have to Wait), and closes the backend. It returns
// when nothing of the idle ones is left. Starting a run is an error from then on.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for _, w := range p.waiting {
		w.err = errClosed
		close(w.decided)
	}
	p.waiting = nil
	for _, s := range p.shelves {
		p.clear(s)
	}
	if p.clock != nil {
		p.clock.Stop()
	}
	for run := range p.runs {
		run.Kill()
	}
	p.mu.Unlock()
	p.end()
	p.work.Wait()
	return errors.Join(errors.Join(p.errs...), p.backend.Close())
}

var errClosed = errors.New("the pool of sandboxes is closed")

// settle is called, with the lock held, after every change: it gives waiting runs what they can have, lets go of what is
// no longer wanted, and starts what is missing.
func (p *Pool) settle() {
	if p.closed {
		return
	}
	now := time.Now()
	p.serve(now)
	p.expire(now)
	p.refill(now)
	p.schedule(now)
}

// room tells whether there may be one more guest.
func (p *Pool) room() bool { return p.idle+p.starting+p.running+p.closing < p.opt.Max }

// tick is settle for a moment when nothing but the time has changed.
func (p *Pool) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
}

// schedule sets the clock to the next moment at which settle would find something to do.
func (p *Pool) schedule(now time.Time) {
	var next time.Time
	if p.calm.After(now) {
		next = p.calm
	}
	for _, s := range p.shelves {
		if at := p.next(s, now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	switch {
	case p.clock == nil && !next.IsZero():
		p.clock = time.AfterFunc(next.Sub(now), p.tick)
	case p.clock != nil && next.IsZero():
		p.clock.Stop()
	case p.clock != nil:
		p.clock.Reset(next.Sub(now))
	}
}
