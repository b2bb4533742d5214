package runner

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/runner/call"
)

// landingCopies is the most copies of a large result in memory while it is read, decoded and stored.
const landingCopies = 4

// reservation is the memory that one call has reserved. It is safe for concurrent use.
type reservation struct {
	own, all *semaphore.Weighted
	most     int64 // bytes

	mu     sync.Mutex
	held   int64
	waited time.Duration
}

// take waits until the call has reserved that many bytes in all, or the most that one call may have. It holds nothing while it
// waits, so that two calls cannot wait for each other.
func (b *reservation) take(ctx context.Context, bytes int64) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes = min(bytes, b.most); bytes <= b.held {
		return nil
	}
	b.release()
	began := time.Now()
	defer func() { b.waited += time.Since(began) }()
	if err := b.own.Acquire(ctx, bytes); err != nil {
		return err
	}
	if err := b.all.Acquire(ctx, bytes); err != nil {
		b.own.Release(bytes)
		return err
	}
	b.held = bytes
	return nil
}

// release frees what is reserved. The mutex is held.
func (b *reservation) release() {
	if b.held > 0 {
		b.own.Release(b.held)
		b.all.Release(b.held)
		b.held = 0
	}
}

// leave frees everything and returns how long the call has waited.
func (b *reservation) leave() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release()
	return b.waited
}

// reserve holds memory for the call's result until the result is delivered.
func (c *calls) reserve(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		b := &reservation{own: c.ownMemory(), all: c.r.memory.bytes, most: c.r.memory.size / 4}
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
func (c *calls) ownMemory() *semaphore.Weighted {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory == nil {
		c.memory = semaphore.NewWeighted(c.r.memory.size / 2)
	}
	return c.memory
}
