// Package resources supplies the expensive parts of a run: sandboxes, connections to servers, search indexes and runners.
// [Cold] makes them for one run; [Warm] keeps them for the next one, in the daemon and in mcprun serve. Warm keeps each
// value under a key of everything it depends on, so that runs behave the same with both.
package resources

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/telemetry"
)

// TreeIndex is a tree that can be searched.
type TreeIndex struct {
	Tree  *gen.Tree
	Index *search.Index
}

// OpenIndex returns a tree and its search index, with the settings of the configuration, which may be nil.
func OpenIndex(app *cli.App, at Provider, tree string, cfg *config.Config) (*TreeIndex, error) {
	if cfg == nil {
		return at.Index(tree, nil)
	}
	opt, err := gen.SearchOptions(cfg, app.LookupEnv, app.CacheDir())
	if err != nil {
		return nil, err
	}
	return at.Index(tree, opt)
}

// Search finds tools. Degraded is the reason if their descriptions should have been searched by meaning but were not.
func (x *TreeIndex) Search(ctx context.Context, q search.Query, detail search.Detail, lang config.Language) (found []search.Result, degraded, err error) {
	answer, err := x.Index.Answer(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	found, err = x.Results(answer.Hits, detail, lang)
	return found, answer.Degraded, err
}

// Results returns hits in a language, or in another language of the tree if the first one lacks some wrappers.
func (x *TreeIndex) Results(hits []search.Hit, detail search.Detail, lang config.Language) ([]search.Result, error) {
	found, err := x.Tree.Results(hits, detail, lang)
	if err != nil {
		return x.Tree.Results(hits, detail, "")
	}
	return found, nil
}

// CloseAll closes sandboxes.
func CloseAll(list []sandbox.Backend) {
	for _, b := range list {
		_ = b.Close()
	}
}

// Provider supplies the expensive parts of a run: sandboxes, connections, indexes and runners. A run releases everything that it gets.
type Provider interface {
	// Sandboxes returns all sandboxes; release is called once, after the run.
	Sandboxes(app *cli.App, opt backends.Options) (list []sandbox.Backend, release func(), err error)
	// Upstreams returns connections to servers; release is called once, after the run.
	Upstreams(app *cli.App, servers []config.Server, opt *upstream.Options) (u chain.Upstreams, release func() error, err error)
	// Runner returns a runner of scripts for the tree of opt, whose Upstreams come from this provider.
	Runner(opt *runner.Options) (*runner.Runner, error)
	// Bundler returns the bundler of the provider's runners.
	Bundler() *script.Bundler
	// Index returns a tree and its search index.
	Index(tree string, opt *search.Options) (*TreeIndex, error)
	// Telemetry returns what records runs, or nil if no variable names an endpoint. failed is called once, if something cannot be sent;
	// a provider that serves several commands logs it instead. release is called once, after the run.
	Telemetry(lookup config.Lookup, failed func(error)) (t *telemetry.Telemetry, release func(), err error)
	// Rates counts the calls of all runs for policies.
	Rates() *policy.Rates
	// Sweep ends servers that killed runs have left, in the background. wait waits for that, but only a moment.
	Sweep(ctx context.Context, log *slog.Logger) (wait func())
	// InDaemon reports whether this process is the daemon.
	InDaemon() bool
}

// Cold makes resources for a single run.
type Cold struct{}

// Sandboxes implements Provider.
func (Cold) Sandboxes(_ *cli.App, opt backends.Options) ([]sandbox.Backend, func(), error) {
	list, err := backends.List(opt)
	return list, func() { CloseAll(list) }, err
}

// Upstreams implements Provider.
func (Cold) Upstreams(_ *cli.App, servers []config.Server, opt *upstream.Options) (chain.Upstreams, func() error, error) {
	pool := upstream.NewPool(servers, opt)
	return pool, pool.Close, nil
}

// Bundler implements Provider. It is for one run, and is not closed: its child ends with this process.
func (Cold) Bundler() *script.Bundler {
	return script.NewBundler(&script.BundlerOptions{OneRun: true})
}

// Runner implements Provider.
func (Cold) Runner(opt *runner.Options) (*runner.Runner, error) {
	own := *opt
	if own.Bundler == nil {
		own.Bundler = Cold{}.Bundler()
	}
	return runner.New(&own)
}

// Index implements Provider.
func (Cold) Index(tree string, opt *search.Options) (*TreeIndex, error) {
	t, err := gen.Open(gen.Options{Out: tree})
	if err != nil {
		return nil, err
	}
	return &TreeIndex{Tree: t, Index: t.Index(opt)}, nil
}

// Telemetry implements Provider.
func (Cold) Telemetry(lookup config.Lookup, failed func(error)) (*telemetry.Telemetry, func(), error) {
	t, err := telemetry.New(telemetry.Options{Lookup: lookup, Version: cli.Version(), Failed: failed})
	return t, t.Close, err
}

// Rates implements Provider.
func (Cold) Rates() *policy.Rates { return policy.NewRates() }

// Sweep implements Provider.
func (Cold) Sweep(ctx context.Context, log *slog.Logger) func() {
	return sweep(ctx, log)
}

// InDaemon implements Provider.
func (Cold) InDaemon() bool { return false }

const (
	// sweepTime bounds ending the servers of killed runs.
	sweepTime = 5 * time.Second
	// sweepWait is how long a finished run waits for that. If it takes longer, the next run tries again.
	sweepWait = time.Second
)

// sweep ends servers that killed runs have left, in the background. wait waits for that, but only a moment. Sandboxes need no
// sweeping: they end with mcprun, however it ends.
func sweep(ctx context.Context, log *slog.Logger) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
		defer cancel()
		if err := upstream.Sweep(ctx); err != nil {
			log.Debug("end the servers of killed runs", "err", err)
		}
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(sweepWait):
		}
	}
}
