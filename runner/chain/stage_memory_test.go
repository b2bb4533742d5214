package chain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
)

// reserving is what of a call's way is about room.
func reserving(c *Calls, upstream handler) call.Handler {
	return wrap(upstream, c.reserve, c.waitForMemory).callHandler()
}

// TestFirstLargeResultsTakeTurns: those that nobody expected to be large wait before they are read.
func TestFirstLargeResultsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &Chain{memory: NewMemoryBudget(16 << 20)}
		var now, most atomic.Int64
		c := &Calls{chain: ch}
		run := reserving(c, func(ctx context.Context, req *request) (*call.Result, error) {
			time.Sleep(time.Second) // all are sent
			clock := clock.New(time.Second, time.Second, func(bool) { t.Error("waiting took the call's time") })
			defer clock.Stop()
			if err := c.options(req, clock).Reserve(ctx, 1<<20); err != nil {
				return nil, err
			}
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(100 * time.Millisecond)
			return &call.Result{Value: json.RawMessage("1")}, nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := run(t.Context(), &call.Request{Tool: "t"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); most.Load() != 2 || took != 2*time.Second {
			t.Errorf("%d at once, %v", most.Load(), took)
		}
		if !ch.memory.bytes.TryAcquire(16<<20) || !c.ownMemory().TryAcquire(8<<20) {
			t.Error("room was not given back")
		}
	})
}

// TestLargeResultsTakeTurns makes many calls of a tool with large results, in two runs that share the room.
func TestLargeResultsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 2 << 20
		ch := &Chain{memory: NewMemoryBudget(16 << 20)}
		var now, most atomic.Int64
		upstream := func(_ context.Context, req *request) (*call.Result, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			if req.Tool == "small" {
				return &call.Result{Value: json.RawMessage("1")}, nil
			}
			return &call.Result{Value: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}, nil
		}
		runs := []call.Handler{reserving(&Calls{chain: ch}, upstream), reserving(&Calls{chain: ch}, upstream)}
		make := func(run call.Handler, tool string) {
			if _, err := run(t.Context(), &call.Request{Tool: tool}); err != nil {
				t.Error(err)
			}
		}
		make(runs[0], "large") // now it is known
		most.Store(0)
		burst := func(tool string, runs ...call.Handler) (took time.Duration) {
			began := time.Now()
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() { make(runs[i%len(runs)], tool) })
			}
			all.Wait()
			return time.Since(began)
		}
		if took := burst("large", runs[0]); most.Load() != 3 || took != 7*time.Second {
			t.Errorf("one run: %d at once, %v", most.Load(), took)
		}
		most.Store(0)
		if took := burst("large", runs...); most.Load() > 7 || took > 5*time.Second {
			t.Errorf("two runs: %d at once, %v", most.Load(), took)
		}
		if took := burst("small", runs[0]); took != time.Second {
			t.Errorf("small results waited: %v, want %v", took, time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		ch.memory.bytes.TryAcquire(16 << 20)
		if _, err := runs[0](ctx, &call.Request{Tool: "large"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without memory: %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// TestMemoryBudgetForgets: a tool whose results have become small does not wait any more.
func TestMemoryBudgetForgets(t *testing.T) {
	r := NewMemoryBudget(100 << 20)
	r.note("t", 1<<40)
	if got := r.expect("t"); got != 25<<20 {
		t.Errorf("a result of any size takes %d, want %d", got, 25<<20)
	}
	for range 25 {
		r.note("t", 10)
	}
	if got := r.expect("t"); got != 0 || len(r.largest) != 0 {
		t.Errorf("it takes %d, want 0 and len(r.largest) 0", got)
	}
	for i := range maxLargest + 10 {
		r.note(strings.Repeat("x", i), largeResult)
	}
	if len(r.largest) != maxLargest {
		t.Errorf("%d tools are remembered, want %d", len(r.largest), maxLargest)
	}
}
