package main

import (
	"context"
	"fmt"
	"os/exec"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

const (
	// parallelRuns is the number of scripts that run at once, parallelSamples the number of repetitions.
	parallelRuns    = 50
	parallelSamples = 3
)

// runParallel runs n new scripts at once.
func (b *bench) runParallel(ctx context.Context, be sandbox.Backend, lang sandbox.Language, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	for range n {
		group.Go(func() error { return b.run(ctx, be, lang, hello(lang), nil, nil) })
	}
	return group.Wait()
}

// parallel measures fifty runs at once until the last one ends, beside fifty bare interpreters at once.
func (b *bench) parallel(ctx context.Context) error {
	bare := func(lang sandbox.Language) string {
		return fmt.Sprintf("%d of %s at once", parallelRuns, interpreter(lang))
	}
	for _, lang := range languages() {
		words, err := bareCommand(ctx, lang)
		if err != nil {
			return err
		}
		samples, err := sample(0, parallelSamples, millis, func(int) error {
			group, ctx := errgroup.WithContext(ctx)
			for range parallelRuns {
				group.Go(exec.CommandContext(ctx, words[0], words[1], hello(lang)).Run)
			}
			return group.Wait()
		})
		if err != nil {
			return err
		}
		b.table.add(bare(lang), "ms", "", samples)
	}
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		name := fmt.Sprintf("%d runs at once %s %s", parallelRuns, be.Name(), lang)
		measure := func(name string, be sandbox.Backend) error {
			samples, err := sample(0, parallelSamples, millis, func(int) error { return b.runParallel(ctx, be, lang, parallelRuns) })
			if err == nil {
				b.table.add(name, "ms", bare(lang), samples)
			}
			return err
		}
		if err := measure(name, be); err != nil {
			return err
		}
		return b.withPool(ctx, be, lang, idleGuests, func(p *pool.Pool) error {
			return measure(fmt.Sprintf("%s, a pool of %d", name, idleGuests), p)
		})
	})
}
