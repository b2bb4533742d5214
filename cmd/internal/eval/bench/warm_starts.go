package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

const (
	idleGuests = 8
	// fillTime bounds the wait for idle guests.
	fillTime = time.Minute
)

// borrowed is a sandbox that a pool uses and does not close.
type borrowed struct{ sandbox.Warmer }

// Close does nothing.
func (borrowed) Close() error { return nil }

// PythonVersion implements sandbox.Packager.
func (b borrowed) PythonVersion(ctx context.Context) (string, error) {
	return sandbox.PythonVersion(ctx, b.Warmer)
}

// withPool calls f with a pool that has this many idle guests of a sandbox. If the sandbox cannot start guests ahead, withPool
// records that and does not call f.
func (b *bench) withPool(ctx context.Context, be sandbox.Backend, lang sandbox.Language, idle int, f func(p *pool.Pool) error) (err error) {
	w, ok := be.(sandbox.Warmer)
	if !ok {
		b.skip(fmt.Sprintf("warm starts of %s: it starts no guests ahead", be.Name()))
		return nil
	}
	p := pool.New(borrowed{w}, &pool.Options{MaxIdle: idle})
	defer func() {
		if e := p.Close(); err == nil {
			err = e
		}
	}()
	// The pool learns from runs what to keep.
	for p.Stats().Idle+p.Stats().Starting < idle {
		if err := b.runParallel(ctx, p, lang, idle); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond) // the pool lets runs begin first
	}
	if err := waitFull(ctx, p, idle); err != nil {
		return err
	}
	return f(p)
}

// waitFull waits until a pool has that many idle guests and is starting no more.
func waitFull(ctx context.Context, p *pool.Pool, idle int) error {
	ctx, cancel := context.WithTimeout(ctx, fillTime)
	defer cancel()
	for {
		s := p.Stats()
		if s.Idle >= idle && s.Starting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %d idle guests: %w (%+v)", idle, ctx.Err(), s)
		case <-time.After(time.Millisecond):
		}
	}
}

// warmStarts measures the same as [bench.coldStarts] when an idle guest waits for each run.
func (b *bench) warmStarts(ctx context.Context) error {
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		return b.withPool(ctx, be, lang, 2, func(p *pool.Pool) error {
			before := p.Stats()
			t, err := b.starts(ctx, p, lang, func() error { return waitFull(ctx, p, 2) })
			if err != nil {
				return err
			}
			b.addRuns("warm", be, lang, t)
			if cold := p.Stats().Cold - before.Cold; cold > 0 {
				b.skip(fmt.Sprintf("%d of the warm starts of %s %s: they were cold", cold, be.Name(), lang))
			}
			return nil
		})
	})
}

// idle measures the memory of an idle guest.
func (b *bench) idle(ctx context.Context) error {
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		before := processes()
		return b.withPool(ctx, be, lang, idleGuests, func(*pool.Pool) error {
			if memory, ok := memoryOfNew(before); ok {
				b.table.add(fmt.Sprintf("memory of an idle guest, %s %s", be.Name(), lang), "MiB", "", []float64{memory / idleGuests})
			}
			return nil
		})
	})
}
