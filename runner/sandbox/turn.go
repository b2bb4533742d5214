package sandbox

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// starting bounds how many guests this process starts at once. A start keeps one processor busy, so starting more guests than there are
// processors only delays each of them. It is global because the processors are.
var starting = semaphore.NewWeighted(MaxStarts())

// MaxStarts returns how many guests are started at once. Others wait, first come, first served.
func MaxStarts() int64 { return int64(max(2, runtime.GOMAXPROCS(0))) }

// Turn is one guest's place in the queue of starts, with a time limit for the start that does not run while the guest waits in
// the queue.
type Turn struct {
	limit time.Duration
	clock *time.Timer

	mu    sync.Mutex
	taken bool
}

// NewTurn starts the clock. It calls late if the start takes longer than limit. The caller must call Done.
func NewTurn(limit time.Duration, late func()) *Turn {
	return &Turn{limit: limit, clock: time.AfterFunc(limit, late)}
}

// Await waits for the guest's turn. A Backend calls it once, before it starts a guest. The error is the context's. A nil Turn does not
// wait.
func (t *Turn) Await(ctx context.Context) error {
	if t == nil || !t.clock.Stop() { // the time limit has passed
		return ctx.Err()
	}
	if err := starting.Acquire(ctx, 1); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = true
	t.clock.Reset(t.limit)
	return nil
}

// Done lets the next guest start and stops the clock, because this guest is ready or failed to start. It may be called again. It reports
// whether the guest was ready in time.
func (t *Turn) Done() (inTime bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	inTime = t.clock.Stop()
	if t.taken {
		t.taken = false
		starting.Release(1)
	}
	return inTime
}
