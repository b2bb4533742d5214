package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

const (
	atOnce     = 50
	atOnceRuns = 3
)

// runs runs that many scripts at once.
func (b *bench) runs(ctx context.Context, be sandbox.Backend, lang sandbox.Language, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	for range n {
		group.Go(func() error { return b.run(ctx, be, lang, hello(lang), nil, nil) })
	}
	return group.Wait()
}

// manyRuns measures fifty runs at once to the end of the last, beside fifty bare interpreters at once.
func (b *bench) manyRuns(ctx context.Context) error {
	alone := func(lang sandbox.Language) string { return fmt.Sprintf("%d of %s at once", atOnce, runtimeOf(lang)) }
	for _, lang := range languages() {
		words, err := bare(ctx, lang)
		if err != nil {
			return err
		}
		samples, err := times(atOnceRuns, func() error {
			group, ctx := errgroup.WithContext(ctx)
			for range atOnce {
				group.Go(exec.CommandContext(ctx, words[0], words[1], hello(lang)).Run)
			}
			return group.Wait()
		})
		if err != nil {
			return err
		}
		b.table.add(alone(lang), "ms", "", samples)
	}
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		name := fmt.Sprintf("%d runs at once %s %s", atOnce, be.Name(), lang)
		samples, err := times(atOnceRuns, func() error { return b.runs(ctx, be, lang, atOnce) })
		if err != nil {
			return err
		}
		b.table.add(name, "ms", alone(lang), samples)
		return b.warm(ctx, be, lang, idleGuests, func(p *pool.Pool) error {
			samples, err := times(atOnceRuns, func() error { return b.runs(ctx, p, lang, atOnce) })
			if err != nil {
				return err
			}
			b.table.add(fmt.Sprintf("%s, a pool of %d", name, idleGuests), "ms", alone(lang), samples)
			return nil
		})
	})
}

// times is how long f takes, in milliseconds, n times.
func times(n int, f func() error) (samples []float64, err error) {
	for range n {
		start := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		samples = append(samples, millis(time.Since(start)))
	}
	return samples, nil
}
