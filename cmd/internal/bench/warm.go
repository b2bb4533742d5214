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

// lent is a sandbox that a pool may use and not close.
type lent struct{ sandbox.Warmer }

func (lent) Close() error { return nil }

// warm makes a pool over a sandbox and hands it to f with as many idle guests as asked for. Where the sandbox can't be
// warmed, f is not called, and the report says so.
func (b *bench) warm(ctx context.Context, be sandbox.Backend, lang sandbox.Language, idle int, f func(p *pool.Pool) error) (err error) {
	w, ok := be.(sandbox.Warmer)
	if !ok {
		b.skip(fmt.Sprintf("warm starts of %s: it starts no guests ahead", be.Name()))
		return nil
	}
	p := pool.New(lent{w}, &pool.Options{Min: idle, MaxIdle: idle, Max: idle + 2*atOnce})
	defer func() {
		if e := p.Close(); err == nil {
			err = e
		}
	}()
	// The first run tells the pool what is wanted.
	if err := b.run(ctx, p, lang, hello(lang), nil, nil); err != nil {
		return err
	}
	if err := full(ctx, p, idle); err != nil {
		return err
	}
	return f(p)
}

// full waits until a pool has that many idle guests and starts no more.
func full(ctx context.Context, p *pool.Pool, idle int) error {
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

// warmStarts measures from a script's source to its first line of output where a guest waits for it: of new scripts, and
// of one that ran before.
func (b *bench) warmStarts(ctx context.Context) error {
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		return b.warm(ctx, be, lang, 2, func(p *pool.Pool) error {
			filled := func() error { return full(ctx, p, 2) }
			same := hello(lang)
			if err := b.run(ctx, p, lang, same, nil, nil); err != nil {
				return err
			}
			for _, m := range []struct {
				more string
				code func() string
			}{
				{"", func() string { return hello(lang) }},
				{", the same script", func() string { return same }},
			} {
				samples, err := b.starts(ctx, p, lang, filled, m.code)
				if err != nil {
					return err
				}
				b.table.add(fmt.Sprintf("warm start %s %s%s", be.Name(), lang, m.more), "ms", withoutSandbox(lang), samples)
			}
			if s := p.Stats(); s.Cold > 1 {
				b.skip(fmt.Sprintf("%d of the warm starts of %s %s: they were cold", s.Cold-1, be.Name(), lang))
			}
			return nil
		})
	})
}

// idle measures what a waiting guest costs, and how fast guests are made.
func (b *bench) idle(ctx context.Context) error {
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		before := processes()
		return b.warm(ctx, be, lang, idleGuests, func(p *pool.Pool) error {
			name := fmt.Sprintf("%s %s", be.Name(), lang)
			if memory, ok := memoryOfNew(before); ok {
				b.table.add("memory of an idle guest, "+name, "MiB", "", []float64{memory / idleGuests})
			}
			// A run for each of them empties the pool; the time until it is full again is that of making all.
			began := time.Now()
			before := p.Stats()
			if err := b.runs(ctx, p, lang, idleGuests); err != nil {
				return err
			}
			if err := full(ctx, p, idleGuests); err != nil {
				return err
			}
			after := p.Stats()
			made := float64(after.Refills - before.Refills)
			b.table.add("guests made for the pool, "+name, "per s", "", []float64{made / time.Since(began).Seconds()})
			return nil
		})
	})
}
