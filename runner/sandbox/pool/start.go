package pool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// BusyError says that a run was not started because there are too many already.
type BusyError struct {
	Name   string // of the backend
	Max    int
	Waited time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("sandbox %q: %d guests at once are the maximum, and none ended within %v", e.Name, e.Max, e.Waited)
}

// Hint says what to do.
func (*BusyError) Hint() string { return "start fewer runs at once, or allow the pool more guests" }

// waiter is a run that waits for its guest.
type waiter struct {
	shelf   *shelf
	decided chan struct{} // closed, under the lock, once it is off the list and what follows is set
	guest   *guest        // nil: it may start one itself
	err     error
}

// Start hands out an idle guest of spec's shape, and otherwise waits or starts one as the package comment says.
func (p *Pool) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g, s, err := p.acquire(ctx, spec)
	if err != nil {
		return nil, err
	}
	run, err := p.launch(ctx, g, s, spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.settle()
	if g == nil {
		p.launching--
	}
	if err != nil {
		p.running--
		return nil, err
	}
	p.runs[run] = struct{}{}
	if p.closed {
		run.Kill()
	}
	return run, nil
}

// acquire waits until the run is promised a guest, which counts as running from then on: an idle one, or with nil one
// that the caller starts.
func (p *Pool) acquire(ctx context.Context, spec sandbox.Spec) (*guest, *shelf, error) {
	w, err := p.enqueue(spec)
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-w.decided: // at once, mostly
		return w.guest, w.shelf, w.err
	default:
	}
	began := time.Now()
	clock := time.NewTimer(max(p.opt.MaxWait, 0))
	defer clock.Stop()
	select {
	case <-w.decided:
	case <-ctx.Done():
	case <-clock.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.decided:
		return w.guest, w.shelf, w.err
	default:
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(o *waiter) bool { return o == w })
	defer p.settle()
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case p.room(): // it waited for a guest that did not come
		p.running++
		p.launching++
		return nil, w.shelf, nil
	}
	p.count.busy++
	return nil, nil, &BusyError{Name: p.Name(), Max: p.opt.Max, Waited: time.Since(began).Round(time.Millisecond)}
}

func (p *Pool) enqueue(spec sandbox.Spec) (*waiter, error) {
	shape := p.backend.Shape(spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	w := &waiter{shelf: p.shelf(shape, spec), decided: make(chan struct{})}
	if len(w.shelf.idle) == 0 {
		w.shelf.target = min(max(w.shelf.target+1, p.opt.Min), p.opt.MaxIdle)
	}
	p.waiting = append(p.waiting, w)
	p.settle()
	select {
	case <-w.decided:
	default:
		p.count.waited++
	}
	return w, nil
}

// serve gives waiting runs what they can have: an idle guest; else, unless one is on its way that will be there sooner
// and that nobody before them waits for, room to start one.
func (p *Pool) serve(now time.Time) {
	onTheWay := map[*shelf]int{}
	emptied := p.closing
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		if w.guest = p.take(w.shelf); w.guest != nil {
			close(w.decided)
			return true
		}
		if onTheWay[w.shelf] < w.shelf.near(now, p.refillTime()/2) {
			onTheWay[w.shelf]++
			return false
		}
		if p.room() {
			p.running++
			p.launching++
			close(w.decided)
			return true
		}
		if emptied > 0 {
			emptied--
		} else {
			p.evict(w.shelf, time.Now())
		}
		return false
	})
}

// awaited tells whether a run waits for a guest of s.
func (p *Pool) awaited(s *shelf) bool {
	return slices.ContainsFunc(p.waiting, func(w *waiter) bool { return w.shelf == s })
}

// launch makes g, or a guest of its own, the guest of a run.
func (p *Pool) launch(ctx context.Context, g *guest, s *shelf, spec sandbox.Spec) (*process, error) {
	if g != nil {
		proc, err := g.adopt(ctx, spec)
		if err == nil {
			p.tally(func() { p.count.warm++; s.failures = 0 })
			return &process{Process: proc, pool: p, conn: g.handOver()}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.opt.Logger.Warn("an idle guest could not be used", "sandbox", p.Name(), "error", err)
		p.tally(func() { p.count.failed++; s.fail() })
	}
	proc, err := p.backend.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	p.tally(func() { p.count.cold++ })
	return &process{Process: proc, pool: p}, nil
}

func (p *Pool) tally(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}
