package resources

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/telemetry"
)

const (
	// unusedTime is how long resources that no run uses are kept.
	unusedTime = 10 * time.Minute
	// sessionTime is how long a connection that no call uses is kept.
	sessionTime = 5 * time.Minute
	// maxIdle bounds the idle sandboxes of one kind.
	maxIdle = 4
	// sweepPause is the least time between two sweeps.
	sweepPause = 5 * time.Second
	// maxIndexes bounds the unused search indexes: each has its tree in memory.
	maxIndexes = 4
	// maxUnused bounds the unused resources of each kind.
	maxUnused = 16
)

// Warm keeps resources for later runs. Each is kept under a key that names everything it depends on, and runs with the same key share it.
type Warm struct {
	log     *slog.Logger
	sets    *keeper[[]sandbox.Backend]
	servers *keeper[*upstream.Pool]
	runners *keeper[*runner.Runner]
	indexes *keeper[*TreeIndex]
	sent    *keeper[*telemetry.Telemetry]
	memory  *chain.MemoryBudget
	rates   *policy.Rates
	bundler *script.Bundler // in a child process, so that no script can end the daemon

	life context.Context // of the background work
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	sweeping bool
	swept    time.Time
}

// NewWarm returns resources that stay until Close.
func NewWarm(log *slog.Logger) *Warm {
	h := &Warm{
		log:     log,
		sets:    newKeeper(maxUnused, unusedTime, CloseAll),
		servers: newKeeper(maxUnused, unusedTime, func(p *upstream.Pool) { _ = p.Close() }),
		runners: newKeeper[*runner.Runner](maxUnused, unusedTime, nil),
		indexes: newKeeper[*TreeIndex](maxIndexes, unusedTime, nil),
		sent:    newKeeper(maxUnused, unusedTime, (*telemetry.Telemetry).Close),
		memory:  chain.NewMemoryBudget(0),
		rates:   policy.NewRates(),
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

func (h *Warm) tidy() {
	h.indexes.tidy()
	h.runners.tidy()
	h.servers.tidy()
	h.sets.tidy()
	h.sent.tidy()
}

// Close closes everything that is kept. No run may be in progress.
func (h *Warm) Close() {
	h.end()
	h.work.Wait()
	h.indexes.shut()
	h.runners.shut()
	var both sync.WaitGroup
	both.Go(h.servers.shut)
	both.Go(h.sets.shut)
	both.Go(func() { _ = h.bundler.Close() })
	both.Wait()
	h.sent.shut() // last, since it is told of the ends of sessions
}

// InDaemon implements Provider.
func (h *Warm) InDaemon() bool { return true }

// isWatched reports whether a client wants debug logs. It then shares no resources, so that it gets all of the logs.
func isWatched(log *slog.Logger) bool {
	return log != nil && log.Enabled(context.Background(), slog.LevelDebug)
}

// Sandboxes implements Provider.
func (h *Warm) Sandboxes(app *cli.App, opt backends.Options) ([]sandbox.Backend, func(), error) {
	if isWatched(opt.Logger) {
		return Cold{}.Sandboxes(app, opt)
	}
	known := lookUp(opt.LookupEnv, backends.Variables())
	opt.LookupEnv, opt.Dir, opt.Logger = known.lookup, app.Dir, h.log
	return h.sets.get(digestOf(opt.CacheKey()), func() ([]sandbox.Backend, error) {
		list, err := backends.List(opt)
		for i, b := range list {
			if w, ok := b.(sandbox.Warmer); ok {
				list[i] = newCachedProbe(pool.New(w, &pool.Options{MaxIdle: maxIdle, IdleTime: unusedTime, Logger: h.log}))
			}
		}
		return list, err
	})
}

// Upstreams implements Provider.
func (h *Warm) Upstreams(app *cli.App, servers []config.Server, opt *upstream.Options) (chain.Upstreams, func() error, error) {
	if isWatched(opt.Logger) {
		return Cold{}.Upstreams(app, servers, opt)
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

// DropUpstreams ends the connections that no run uses. Such a server may hold something that a new connection needs, such as a lock.
func (h *Warm) DropUpstreams() { h.servers.drop() }

// Bundler implements Provider.
func (h *Warm) Bundler() *script.Bundler { return h.bundler }

// Runner implements Provider.
func (h *Warm) Runner(opt *runner.Options) (*runner.Runner, error) {
	own := *opt
	own.Bundler, own.Memory = h.bundler, h.memory
	if isWatched(opt.Logger) || opt.Catalog != nil {
		return Cold{}.Runner(&own)
	}
	own.Logger = h.log
	key, err := runnerKey(own)
	if err != nil {
		return Cold{}.Runner(&own)
	}
	r, release, err := h.runners.get(key, func() (*runner.Runner, error) { return runner.New(&own) })
	release() // a closed runner still works, so it may leave the keeper while it is used
	return r, err
}

// Index keeps indexes that search by words. An index with an endpoint for embeddings depends on the client and is not kept.
func (h *Warm) Index(tree string, opt *search.Options) (*TreeIndex, error) {
	state, err := treeState(tree)
	if err != nil || opt != nil && opt.Embedder != nil {
		return Cold{}.Index(tree, opt)
	}
	var of search.Options
	if opt != nil {
		of = *opt
	}
	x, release, err := h.indexes.get(digestOf(tree, state, of.Categories, of.About, of.UseCases), func() (*TreeIndex, error) { return Cold{}.Index(tree, opt) })
	release() // an index needs no closing, so it may leave the keeper while it is used
	return x, err
}

// Telemetry implements Provider.
func (h *Warm) Telemetry(lookup config.Lookup, _ func(error)) (*telemetry.Telemetry, func(), error) {
	known := lookUp(lookup, telemetry.Variables())
	return h.sent.get(digestOf(known), func() (*telemetry.Telemetry, error) {
		return telemetry.New(telemetry.Options{Lookup: known.lookup, Version: cli.Version(), Failed: func(err error) { h.log.Warn(err.Error()) }})
	})
}

// Rates implements Provider.
func (h *Warm) Rates() *policy.Rates { return h.rates }

// Sweep ends the servers of killed runs, but not before every run, and no run waits for it.
func (h *Warm) Sweep(context.Context, *slog.Logger) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sweeping || time.Since(h.swept) < sweepPause || h.life.Err() != nil {
		return func() {}
	}
	h.sweeping = true
	return func() {
		h.work.Go(func() {
			wait := sweep(h.life, h.log)
			wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			h.sweeping, h.swept = false, time.Now()
		})
	}
}

// Describe lists what is kept, for the daemon's status.
func (h *Warm) Describe() []string {
	var lines []string
	h.sets.each(func(list []sandbox.Backend) {
		for _, b := range list {
			p, ok := b.(*cachedProbe)
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
			line += fmt.Sprintf("; next try in %v (last failure: %s)", time.Until(s.RetryAt).Round(time.Second), s.LastFailure)
		}
		lines = append(lines, line)
	}
	return lines
}

// probeTime is how long a successful probe is remembered.
const probeTime = 10 * time.Second

// cachedProbe is a pool whose Probe result is cached. If the sandbox has stopped working since, Start fails.
type cachedProbe struct {
	*pool.Pool

	mu   sync.Mutex
	last sandbox.Status
	at   time.Time
}

func newCachedProbe(p *pool.Pool) *cachedProbe { return &cachedProbe{Pool: p} }

// Probe returns the pool's status, cached for probeTime if it was usable.
func (p *cachedProbe) Probe(ctx context.Context) sandbox.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.Usable || time.Since(p.at) > probeTime {
		p.last, p.at = p.Pool.Probe(ctx), time.Now()
	}
	return p.last
}

// Start starts a guest. After a failure the next Probe is not answered from the cache.
func (p *cachedProbe) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	proc, err := p.Pool.Start(ctx, spec)
	if err != nil {
		p.mu.Lock()
		p.last = sandbox.Status{}
		p.mu.Unlock()
	}
	return proc, err
}
