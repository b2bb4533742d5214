package runner

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/runner/call"
)

// DefaultRoom is how many bytes of large results a [Room] lets be under way, and of one run half of them.
const DefaultRoom = 512 << 20

// Room bounds the bytes of large results that are under way at once, of all runs that share it. How large a result will be
// is known only when its server begins to send it, so a call takes as much room as the largest result that its tool has given
// lately, and waits until there is as much before it is sent. A result that turns out to be large waits again, before it is
// read where that can be, for as much as its copies take. Calls of tools that give small results, or that have not been called
// yet, do not wait to be sent. It is safe for concurrent use.
type Room struct {
	size  int64
	bytes *semaphore.Weighted

	mu      sync.Mutex
	largest map[string]int64 // results of at least largeResult bytes, by tool
}

// Bounds: from how many bytes on a result takes room, and how many tools are remembered.
const (
	largeResult = 1 << 20
	maxLargest  = 10_000
)

// NewRoom makes room for that many bytes. Zero: DefaultRoom.
func NewRoom(bytes int64) *Room {
	if bytes == 0 {
		bytes = DefaultRoom
	}
	return &Room{size: bytes, bytes: semaphore.NewWeighted(bytes), largest: map[string]int64{}}
}

// expect is how much room a call of the tool takes. However large its results are, a few can be under way.
func (r *Room) expect(tool string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(r.largest[tool], r.size/4)
}

// note remembers the size of a result. One that is smaller than others before is believed by half.
func (r *Room) note(tool string, size int) {
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

// landingCopies is how often a large result is in memory at most while it is read, decoded and stored.
const landingCopies = 4

// berth is what one call has of its run's room and of all runs'. It is safe for concurrent use.
type berth struct {
	own, all *semaphore.Weighted
	most     int64 // bytes

	mu     sync.Mutex
	held   int64
	waited time.Duration
}

// take has the call wait until it has so much room in all, as far as one call may have it. It holds nothing while it waits,
// so that calls which hold something can end.
func (b *berth) take(ctx context.Context, bytes int64) error {
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

// release gives back what is held. The mutex is held, too.
func (b *berth) release() {
	if b.held > 0 {
		b.own.Release(b.held)
		b.all.Release(b.held)
		b.held = 0
	}
}

// leave gives everything back, and says how long the call has waited.
func (b *berth) leave() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release()
	return b.waited
}

type berthKey struct{}

// berthOf is the call's; nil where no stage gave it one.
func berthOf(ctx context.Context) *berth {
	b, _ := ctx.Value(berthKey{}).(*berth)
	return b
}

// berth gives a call what it takes room with, and gives the room back when the result is where it belongs.
func (c *calls) berth(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		b := &berth{own: c.ownRoom(), all: c.r.room.bytes, most: c.r.room.size / 4}
		defer func() {
			if waited := b.leave(); waited > 0 {
				liveOf(ctx).queueMS += ms(waited)
			}
		}()
		return next(context.WithValue(ctx, berthKey{}, b), req)
	}
}

// ownRoom is the run's part of the room.
func (c *calls) ownRoom() *semaphore.Weighted {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.room == nil {
		c.room = semaphore.NewWeighted(c.r.room.size / 2)
	}
	return c.room
}

// fit has a call wait until there is room for its result, as far as it is known how large that may be.
func (c *calls) fit(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		if bytes := c.r.room.expect(req.Tool); bytes > 0 {
			liveOf(ctx).waiting.begin(ctx, waitRoom)
			if err := berthOf(ctx).take(ctx, bytes); err != nil {
				return nil, callError(ctx, req, err)
			}
		}
		res, err := next(ctx, req)
		if err == nil && res != nil {
			c.r.room.note(req.Tool, len(res.Value))
		}
		return res, err
	}
}
