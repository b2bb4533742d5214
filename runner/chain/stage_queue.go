package chain

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
)

// queue makes a call wait for three limits, in this order: the run's limit at this server, the run's limit, and the server's limit for all
// runs. So calls to a slow server do not use up the run's limit, and a run with many calls does not hold back other runs while it waits.
func (c *Calls) queue(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		start := time.Now()
		req.waiting.begin(ctx, waitTurn)
		for _, slots := range []chan struct{}{c.gate(req.Server), c.slots, c.chain.slots(req.Server)} {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return nil, callError(ctx, req, ctx.Err())
			}
		}
		select {
		case <-c.over: // the end of the run reaches its calls one after the other, and those that it has reached free their places
			<-ctx.Done()
		default:
		}
		if ctx.Err() != nil {
			return nil, callError(ctx, req, ctx.Err())
		}
		req.queueMS = ms(time.Since(start))
		return next(ctx, req)
	}
}

// gate returns the semaphore of the run's calls to a server.
func (c *Calls) gate(server string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gates[server] == nil {
		c.gates[server] = make(chan struct{}, c.chain.parallel(server))
	}
	return c.gates[server]
}

// slots returns the semaphore of all runs' calls to a server.
func (ch *Chain) slots(server string) chan struct{} {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.servers[server] == nil {
		ch.servers[server] = make(chan struct{}, ch.parallel(server))
	}
	return ch.servers[server]
}

func (ch *Chain) parallel(server string) int {
	if n := ch.settings[server].Parallel; n > 0 {
		return n
	}
	return defaultParallel
}
