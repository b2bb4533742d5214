package chain

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/runner/call"
)

// reserve holds memory for the call's result until the result is delivered.
func (c *Calls) reserve(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		b := &reservation{own: c.ownMemory(), all: c.chain.memory.bytes, most: c.chain.memory.size / 4}
		defer func() {
			if waited := b.leave(); waited > 0 {
				req.queueMS += ms(waited)
			}
		}()
		req.memory = b
		return next(ctx, req)
	}
}

// ownMemory returns the run's part of the budget.
func (c *Calls) ownMemory() *semaphore.Weighted {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory == nil {
		c.memory = semaphore.NewWeighted(c.chain.memory.size / 2)
	}
	return c.memory
}

// waitForMemory makes a call wait until there is memory for its result, if its size can be expected.
func (c *Calls) waitForMemory(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if bytes := c.chain.memory.expect(req.Tool); bytes > 0 {
			req.waiting.begin(ctx, waitMemory)
			if err := req.memory.take(ctx, bytes); err != nil {
				return nil, callError(ctx, req, err)
			}
		}
		res, err := next(ctx, req)
		if err == nil && res != nil {
			c.chain.memory.note(req.Tool, len(res.Value))
		}
		return res, err
	}
}
