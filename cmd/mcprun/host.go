package main

import (
	"context"
	"log/slog"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// host gives a run what is dear to make. Without a daemon that is made for the run and gone with it ([cold]); the daemon
// keeps it. A run cannot tell the two apart, and must return all that it was given.
type host interface {
	// sandboxes returns the sandboxes there are; release is called once, after the run.
	sandboxes(app *cli.App, opt backends.Options) (list []sandbox.Backend, release func(), err error)
	// upstreams returns connections to servers; release is called once, after the run.
	upstreams(app *cli.App, servers []config.Server, opt *upstream.Options) (u runner.Upstreams, release func() error, err error)
	// runner makes what runs scripts against the tree of opt. Its Upstreams are of this host.
	runner(opt *runner.Options) (*runner.Runner, error)
	// index returns the search index of a tree, which makeOne makes with opt; release is called once, after the run.
	index(tree string, opt *search.Options, makeOne func() (*treeIndex, error)) (x *treeIndex, release func(), err error)
	// sweep removes what dead runs have left, beside the run; wait waits for it, but not long.
	sweep(ctx context.Context, all []sandbox.Backend, log *slog.Logger) (wait func())
	// inDaemon says that this is the daemon already.
	inDaemon() bool
}

// cold is the host of a command that does everything itself.
type cold struct{}

func (cold) sandboxes(_ *cli.App, opt backends.Options) ([]sandbox.Backend, func(), error) {
	list, err := backends.List(opt)
	return list, func() { closeAll(list) }, err
}

func (cold) upstreams(_ *cli.App, servers []config.Server, opt *upstream.Options) (runner.Upstreams, func() error, error) {
	pool := upstream.NewPool(servers, opt)
	return pool, pool.Close, nil
}

func (cold) runner(opt *runner.Options) (*runner.Runner, error) {
	own := *opt
	if own.Bundler == nil {
		// It is not closed: what it has started ends with this process.
		own.Bundler = script.NewBundler(&script.BundlerOptions{Doubtful: true})
	}
	return runner.New(&own)
}

func (cold) index(_ string, _ *search.Options, makeOne func() (*treeIndex, error)) (*treeIndex, func(), error) {
	x, err := makeOne()
	if err != nil {
		return nil, nil, err
	}
	return x, x.close, nil
}

func (cold) sweep(ctx context.Context, all []sandbox.Backend, log *slog.Logger) func() {
	return sweep(ctx, all, log)
}

func (cold) inDaemon() bool { return false }
