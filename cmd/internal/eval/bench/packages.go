package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

const (
	// packageRuns is how often each kind of warm start is measured for the promise that packages which are not imported cost at most 10 %.
	packageRuns = 90
	// settleTime is what the guests that were just started get to prepare themselves, which would disturb the next run.
	settleTime = 400 * time.Millisecond
	// preloadTime is what a waiting guest gets to import pandas before its run.
	preloadTime = 3 * time.Second
)

// kind is a pool of guests with some packages, and a script that they run.
type kind struct {
	name, baseline string
	set            *packages.Set
	script         func() string
	pool           *pool.Pool
	bench          *bench
	took           times
}

// installed measures warm starts with numpy and pandas installed but not imported beside those without packages, and of scripts that import
// pandas beside those whose guest has imported it ahead. BENCH_PACKAGES is a folder that holds them in python3.11, as .ci/packages fills it.
func (b *bench) installed(ctx context.Context) error {
	dir := b.env("BENCH_PACKAGES")
	found, _ := filepath.Glob(filepath.Join(dir, "python3.*"))
	if dir == "" || len(found) == 0 {
		b.skip("warm starts with packages: BENCH_PACKAGES names no folder that has them")
		return nil
	}
	set := &packages.Set{Digest: "bench", Dir: dir}
	for _, f := range found {
		set.Pythons = append(set.Pythons, strings.TrimPrefix(filepath.Base(f), "python"))
	}
	preloaded := *set
	preloaded.Preload = []string{"pandas"}
	plain := func() string { return hello(sandbox.LangPython) }
	uses := func() string { return "import pandas\n" + plain() }
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		if lang != sandbox.LangPython {
			return nil
		}
		start := "warm start " + be.Name() + " python"
		if err := b.compare(ctx, be, packageRuns, settleTime,
			&kind{name: start + ", no packages", script: plain},
			&kind{name: start + ", numpy and pandas installed", baseline: start + ", no packages", set: set, script: plain}); err != nil {
			return err
		}
		return b.compare(ctx, be, startRuns, preloadTime,
			&kind{name: start + ", imports pandas", set: set, script: uses},
			&kind{name: start + ", imports pandas, preloaded", baseline: start + ", imports pandas", set: &preloaded, script: uses})
	})
}

// compare measures kinds in turn, so that all meet the same load. Before each run every pool is full, and has had some rest.
func (b *bench) compare(ctx context.Context, be sandbox.Backend, runs int, rest time.Duration, kinds ...*kind) error {
	for _, k := range kinds {
		own := *b
		var err error
		if own.runner, err = runner.New(&runner.Options{Tree: filepath.Join(b.root, "servers"), Upstreams: b.pool, Packages: k.set}); err != nil {
			return err
		}
		k.bench = &own
	}
	var open func(rest []*kind) error
	measure := func() error {
		for range runs {
			for _, k := range kinds {
				for _, other := range kinds {
					if err := waitFull(ctx, other.pool, 2); err != nil {
						return err
					}
				}
				time.Sleep(rest)
				if err := k.took.add(func(stdout io.Writer) error {
					return k.bench.run(ctx, k.pool, sandbox.LangPython, k.script(), stdout, nil)
				}); err != nil {
					return fmt.Errorf("%s: %w", k.name, err)
				}
			}
		}
		return nil
	}
	open = func(rest []*kind) error {
		if len(rest) == 0 {
			return measure()
		}
		return rest[0].bench.withPool(ctx, be, sandbox.LangPython, 2, func(p *pool.Pool) error {
			rest[0].pool = p
			return open(rest[1:])
		})
	}
	if err := open(kinds); err != nil {
		return err
	}
	for _, k := range kinds {
		b.table.add(k.name, "ms", k.baseline, k.took.starts)
	}
	return nil
}
