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
// is known only when it is there, so a call takes as much room as the largest result that its tool has given lately, and
// waits until there is as much. Calls of tools that give small results, or that have not been called yet, do not wait. It
// is safe for concurrent use.
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

// fit has a call wait until there is room for its result: of its run, and of all runs.
func (c *calls) fit(next call.Handler) call.Handler {
	own := semaphore.NewWeighted(c.r.room.size / 2)
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		if bytes := c.r.room.expect(req.Tool); bytes > 0 {
			began := time.Now()
			for _, s := range []*semaphore.Weighted{own, c.r.room.bytes} {
				if err := s.Acquire(ctx, bytes); err != nil {
					return nil, err
				}
				defer s.Release(bytes)
			}
			liveOf(ctx).queueMS += ms(time.Since(began))
		}
		res, err := next(ctx, req)
		if err == nil && res != nil {
			c.r.room.note(req.Tool, len(res.Value))
		}
		return res, err
	}
}
