package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/daemon"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
	"github.com/mcpgen/mcpgen/runner/script"
)

const (
	// unusedTime is how long the daemon keeps what no run uses: connections of a project, sandboxes of a kind.
	unusedTime = 10 * time.Minute
	// sessionTime is how long it keeps a connection that no call uses.
	sessionTime = 5 * time.Minute
	// maxIdle bounds the started sandboxes of one kind that wait for a run.
	maxIdle = 4
	// sweepPause is the least time between two sweeps after dead runs.
	sweepPause = 5 * time.Second
	// maxIndexes bounds the search indexes that are kept without being in use: each has its tree in memory.
	maxIndexes = 4
	// maxUnused bounds what is kept of each kind without being in use.
	maxUnused = 16
)

// warmHost keeps for the next run what a run needed. What its runs have in common they have by keys that name all it
// depends upon, so that a run gets what it would have made itself.
type warmHost struct {
	log     *slog.Logger
	sets    *keeper[[]sandbox.Backend]
	servers *keeper[*upstream.Pool]
	runners *keeper[*runner.Runner]
	indexes *keeper[*treeIndex]
	room    *runner.Room
	bundler *script.Bundler // no script can take the daemon down with it

	life context.Context // of sweeps and of tidying
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	sweeping bool
	swept    time.Time
}

func newWarmHost(log *slog.Logger) *warmHost {
	h := &warmHost{
		log:     log,
		sets:    newKeeper(maxUnused, unusedTime, closeAll),
		servers: newKeeper(maxUnused, unusedTime, func(p *upstream.Pool) { _ = p.Close() }),
		runners: newKeeper[*runner.Runner](maxUnused, unusedTime, nil),
		indexes: newKeeper(maxIndexes, unusedTime, (*treeIndex).close),
		room:    runner.NewRoom(0),
		bundler: script.NewBundler(&script.BundlerOptions{Idle: unusedTime}),
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.work.Go(func() {
		clock := time.NewTicker(time.Minute)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				h.tidy()
			case <-h.life.Done():
				return
			}
		}
	})
	return h
}

func (h *warmHost) tidy() {
	h.indexes.tidy()
	h.runners.tidy()
	h.servers.tidy()
	h.sets.tidy()
}

// close ends all that is kept. No run may be under way.
func (h *warmHost) close() {
	h.end()
	h.work.Wait()
	h.indexes.shut()
	h.runners.shut()
	var both sync.WaitGroup
	both.Go(h.servers.shut)
	both.Go(h.sets.shut)
	both.Go(func() { _ = h.bundler.Close() })
	both.Wait()
}

// handle does the command of a client, as the client itself would without a daemon.
func (h *warmHost) handle(ctx context.Context, w *daemon.Work) int {
	app := &cli.App{
		Name: "mcprun", FailCode: runner.ExitRunner, Dir: w.Dir,
		Stdin: w.Stdin, Stdout: w.Stdout, Stderr: w.Stderr, LookupEnv: w.LookupEnv,
		Terminal: cli.Terminal{
			Stdin: w.Terminal.Stdin, Stdout: w.Terminal.Stdout, Stderr: w.Terminal.Stderr, Shared: w.Terminal.Shared, Columns: w.Columns,
		},
	}
	ctx, end := ownSignal(ctx)
	defer end()
	return app.Run(ctx, newRoot(app, h), w.Args)
}

// ownSignal returns a context that ends with ctx, a client's signal being the cause as if it were this process's own.
func ownSignal(ctx context.Context) (context.Context, func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if sig, ok := errors.AsType[*daemon.SignalError](cause); ok {
			cause = &cli.SignalError{Signal: syscall.Signal(sig.Number)}
		}
		cancel(cause)
	})
	return own, func() { stop(); cancel(nil) }
}

func (h *warmHost) inDaemon() bool { return true }

// isWatched tells whether a client wants to see what happens inside: it then shares nothing, for others would not see it.
func isWatched(log *slog.Logger) bool {
	return log != nil && log.Enabled(context.Background(), slog.LevelDebug)
}

func (h *warmHost) sandboxes(app *cli.App, opt backends.Options) ([]sandbox.Backend, func(), error) {
	if isWatched(opt.Logger) {
		return cold{}.sandboxes(app, opt)
	}
	known := lookUp(app.LookupEnv, backends.Names())
	opt.LookupEnv, opt.Dir, opt.Logger = known.lookup, app.Dir, h.log
	return h.sets.get(digestOf(opt.Depends()), func() ([]sandbox.Backend, error) {
		list, err := backends.List(opt)
		for i, b := range list {
			if w, ok := b.(sandbox.Warmer); ok {
				list[i] = newProbed(pool.New(w, &pool.Options{MaxIdle: maxIdle, IdleExpiry: unusedTime, Logger: h.log}))
			}
		}
		return list, err
	})
}

func (h *warmHost) upstreams(app *cli.App, servers []config.Server, opt *upstream.Options) (runner.Upstreams, func() error, error) {
	if isWatched(opt.Logger) {
		return cold{}.upstreams(app, servers, opt)
	}
	state, _ := app.StateDir() // without one there are no logins
	known, key := serversKey(servers, opt, state, app.Keyring())
	p, release, err := h.servers.get(key, func() (*upstream.Pool, error) {
		own := *opt
		own.Lookup, own.Logger, own.IdleExpiry = known.lookup, h.log, sessionTime
		return upstream.NewPool(servers, &own), nil
	})
	return p, func() error { release(); return nil }, err
}

func (h *warmHost) runner(opt *runner.Options) (*runner.Runner, error) {
	own := *opt
	own.Bundler, own.Room = h.bundler, h.room
	if isWatched(opt.Logger) {
		return cold{}.runner(&own)
	}
	own.Logger = h.log
	key, err := runnerKey(own)
	if err != nil {
		return cold{}.runner(&own)
	}
	r, release, err := h.runners.get(key, func() (*runner.Runner, error) { return runner.New(&own) })
	release() // a runner needs no closing, so it may leave the keeper while it is used
	return r, err
}

// index keeps what is searched by words. Where an endpoint has a part in it, what that is told depends upon the client.
func (h *warmHost) index(tree string, opt *search.Options, makeOne func() (*treeIndex, error)) (*treeIndex, func(), error) {
	state, err := treeState(tree)
	if err != nil || opt != nil && opt.Embedder != nil {
		return cold{}.index(tree, opt, makeOne)
	}
	categories := map[string]string{}
	if opt != nil {
		categories = opt.Categories
	}
	return h.indexes.get(digestOf(tree, state, categories), makeOne)
}

// sweep removes what dead runs have left, but not for each run, and no run waits for it.
func (h *warmHost) sweep(_ context.Context, all []sandbox.Backend, _ *slog.Logger) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sweeping || time.Since(h.swept) < sweepPause || h.life.Err() != nil {
		return func() {}
	}
	h.sweeping = true
	return func() {
		h.work.Go(func() {
			wait := sweep(h.life, all, h.log)
			wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			h.sweeping, h.swept = false, time.Now()
		})
	}
}

// describe says what is kept.
func (h *warmHost) describe() []string {
	var lines []string
	h.sets.each(func(list []sandbox.Backend) {
		for _, b := range list {
			p, ok := b.(*probed)
			if !ok {
				continue
			}
			if s := p.Stats(); s.Idle+s.Starting+s.Running > 0 || s.Warm+s.Cold > 0 {
				lines = append(lines, fmt.Sprintf("sandbox %s: %d ready, %d starting, %d in use; %d runs began at once, %d did not",
					p.Name(), s.Idle, s.Starting, s.Running, s.Warm, s.Cold))
			}
		}
	})
	h.servers.each(func(p *upstream.Pool) { lines = append(lines, describeServers(p)...) })
	return lines
}

// describeServers lists the servers of a project that were used.
func describeServers(p *upstream.Pool) []string {
	var lines []string
	for _, s := range p.Stats() {
		if s.State == upstream.StateIdle && s.Calls == 0 {
			continue
		}
		line := fmt.Sprintf("server %s: %s, %s", s.Server, s.State, cli.Count(s.Calls, "request"))
		if s.Restarts > 0 {
			line += ", " + cli.Count(s.Restarts, "restart")
		}
		if s.State == upstream.StateOpen {
			line += fmt.Sprintf("; it is tried again in %v, for it failed: %s", time.Until(s.RetryAt).Round(time.Second), s.LastFailure)
		}
		lines = append(lines, line)
	}
	return lines
}
