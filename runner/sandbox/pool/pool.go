// Package pool keeps idle sandboxes, with their interpreter loaded, and hands each to one run: a run then begins in about a millisecond
// instead of the time that its sandbox takes to start. Start with [New]. A [Pool] is itself a [sandbox.Backend], over one that can start
// guests ahead of their runs (a [sandbox.Warmer]); callers need not know that it is one.
//
// A guest serves one run and is then discarded. No run can reach another through the pool: an idle guest has seen no script, no workspace
// except the one that its shape names, and no secret except its own.
//
// For each [sandbox.Shape], the pool keeps as many idle guests as recent runs of that shape have lacked. A run that finds no idle guest
// waits for one that is being started; if there is none, it starts its sandbox as if there were no pool.
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

const (
	// headStart is how long a run that has just begun has the processors to itself before the pool starts guests.
	headStart = 30 * time.Millisecond
	// waitTime bounds how long a run waits for a guest that is being started before it starts its own.
	waitTime = 10 * time.Second
)

// Options configure a Pool; nil is valid.
type Options struct {
	// MaxIdle bounds the idle guests of all shapes together. Guests of the least recently used shape are closed first. Zero: 8.
	MaxIdle int
	// IdleTime is how long a guest may stay idle. Zero: 5 min.
	IdleTime time.Duration
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// Pool keeps idle guests of one backend. It is safe for concurrent use.
type Pool struct {
	backend sandbox.Warmer
	opt     Options
	life    context.Context // context of idle guests; Close ends it
	end     context.CancelFunc
	work    sync.WaitGroup // goroutines that start, watch and close idle guests

	mu     sync.Mutex
	closed bool
	sets   map[sandbox.Shape]*idleSet
	runs   map[*process]struct{} // guests of runs, until their Wait
	errs   []error               // errors from closing idle guests
	stats  Stats
}

// New returns a Pool over backend and takes ownership of it: Close closes both. Nothing is started before the first run.
func New(backend sandbox.Warmer, opt *Options) *Pool {
	p := &Pool{backend: backend, sets: map[sandbox.Shape]*idleSet{}, runs: map[*process]struct{}{}}
	if opt != nil {
		p.opt = *opt
	}
	p.opt.MaxIdle = cmp.Or(max(p.opt.MaxIdle, 0), 8)
	p.opt.IdleTime = cmp.Or(max(p.opt.IdleTime, 0), 5*time.Minute)
	if p.opt.Logger == nil {
		p.opt.Logger = slog.New(slog.DiscardHandler)
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

var _ sandbox.Packager = (*Pool)(nil)

// Name returns the backend's name.
func (p *Pool) Name() string { return p.backend.Name() }

// Strength returns the backend's strength.
func (p *Pool) Strength() sandbox.Strength { return p.backend.Strength() }

// Runtime returns the backend's runtime for lang.
func (p *Pool) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) { return p.backend.Runtime(lang) }

// PythonVersion returns the version of the backend's Python.
func (p *Pool) PythonVersion(ctx context.Context) (string, error) {
	return sandbox.PythonVersion(ctx, p.backend)
}

// Probe probes the backend.
func (p *Pool) Probe(ctx context.Context) sandbox.Status { return p.backend.Probe(ctx) }

// Stats are a pool's figures.
type Stats struct {
	// Present numbers of guests that are idle, being started ahead of a run, or with a run.
	Idle, Starting, Running int
	// Since New: runs that got an idle guest, and runs for which a guest was started.
	Warm, Cold int64
	// Failed counts guests that could not be started ahead of a run or handed over, and Died those that ended while idle.
	Failed, Died int64
}

// Stats returns the current figures.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Idle = p.idle()
	for _, set := range p.sets {
		s.Starting += set.starting
	}
	return s
}

var errClosed = errors.New("the pool of sandboxes is closed")

// Start hands out an idle guest of spec's shape, or waits for one or starts one, as the package comment says.
func (p *Pool) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if spec.Network { // the guests that wait have none
		return p.backend.Start(ctx, spec)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g, err := p.take(ctx, spec)
	if err != nil {
		return nil, err
	}
	run, err := p.launch(ctx, g, spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	time.AfterFunc(headStart, p.refill)
	if err != nil {
		return nil, err
	}
	p.stats.Running++
	p.runs[run] = struct{}{}
	if p.closed {
		run.Kill()
	}
	return run, nil
}

// launch gives g its run, or starts a guest for the run if g is nil or cannot be used.
func (p *Pool) launch(ctx context.Context, g *guest, spec sandbox.Spec) (*process, error) {
	if g != nil {
		proc, err := g.adopt(ctx, spec)
		if err == nil {
			p.count(&p.stats.Warm)
			return &process{Process: proc, pool: p, conn: g.handOver()}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.opt.Logger.Warn("could not use an idle guest", "sandbox", p.Name(), "error", err)
		p.count(&p.stats.Failed)
	}
	proc, err := p.backend.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	p.count(&p.stats.Cold)
	return &process{Process: proc, pool: p}, nil
}

func (p *Pool) count(figure *int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*figure++
}

// Close ends the idle guests, kills those of runs (whose callers must still call Wait), and closes the backend. It returns when nothing of
// the idle guests is left. After that, starting a run is an error.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for _, s := range p.sets {
		for len(s.idle) > 0 {
			p.retire(s, s.idle[0])
		}
		for len(s.waiting) > 0 {
			s.serve(nil)
		}
	}
	for run := range p.runs {
		run.Kill()
	}
	p.mu.Unlock()
	p.end()
	p.work.Wait()
	return errors.Join(errors.Join(p.errs...), p.backend.Close())
}
