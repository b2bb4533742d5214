package main

import (
	"context"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

// probeTime is how long a sandbox that was usable is taken to be so.
const probeTime = 10 * time.Second

// probed is a pool of sandboxes that asks the machine not for each run whether it can be used. Should that have changed
// meanwhile, the start of the run says so.
type probed struct {
	*pool.Pool

	mu   sync.Mutex
	last sandbox.Status
	at   time.Time
}

func newProbed(p *pool.Pool) *probed { return &probed{Pool: p} }

// Probe is the pool's, as it was a moment ago where it was usable.
func (p *probed) Probe(ctx context.Context) sandbox.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.Usable || time.Since(p.at) > probeTime {
		p.last, p.at = p.Pool.Probe(ctx), time.Now()
	}
	return p.last
}

// Start is the pool's. After one that was no success the next Probe looks again.
func (p *probed) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	proc, err := p.Pool.Start(ctx, spec)
	if err != nil {
		p.mu.Lock()
		p.last = sandbox.Status{}
		p.mu.Unlock()
	}
	return proc, err
}
