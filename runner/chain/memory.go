package chain

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// DefaultMemoryBudget is the default size of a [MemoryBudget], in bytes.
const DefaultMemoryBudget = 512 << 20

// MemoryBudget bounds the bytes of large results in memory, for all runs that share it. One run may use half of it.
//
// The size of a result is known only when its server begins to send it. So a call reserves the size of the largest recent result of
// its tool before it is sent, and waits until that is free. A result that turns out to be large waits again, if possible before it
// is read, for the size of all its copies. Calls of tools with small results, and first calls, are sent at once. A MemoryBudget is
// safe for concurrent use.
type MemoryBudget struct {
	size  int64
	bytes *semaphore.Weighted

	mu      sync.Mutex
	largest map[string]int64 // results of at least largeResult bytes, by tool
}

// Bounds: the size in bytes of the smallest result that is reserved, and how many tools are remembered.
const (
	largeResult = 1 << 20
	maxLargest  = 10_000
)

// NewMemoryBudget returns a budget of that many bytes. Zero: DefaultMemoryBudget.
func NewMemoryBudget(bytes int64) *MemoryBudget {
	if bytes == 0 {
		bytes = DefaultMemoryBudget
	}
	return &MemoryBudget{size: bytes, bytes: semaphore.NewWeighted(bytes), largest: map[string]int64{}}
}

// expect returns how many bytes a call of the tool reserves. That is at most a quarter of the budget, so that several calls can be in
// flight.
func (r *MemoryBudget) expect(tool string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(r.largest[tool], r.size/4)
}

// note remembers the size of a result. A smaller result moves the expected size halfway towards it.
func (r *MemoryBudget) note(tool string, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.largest[tool]
	now := max(int64(size), old-(old-int64(size)+1)/2)
	switch {
	case now < largeResult:
		delete(r.largest, tool)
	case known || len(r.largest) < maxLargest:
		r.largest[tool] = now
	}
}

// landingCopies is the maximum number of copies of a large result in memory while it is read, decoded and stored.
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
