package sandbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns starts many guests at once, each of which takes nearly as long as a start may. None must be late, and there must never be more
// starts at once than allowed.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, guests = 60 * time.Second, 50
		var now, most, late atomic.Int64
		var all sync.WaitGroup
		for range guests {
			all.Go(func() {
				turn := NewTurn(limit, func() { late.Add(1) })
				if err := turn.Await(t.Context()); err != nil {
					t.Error(err)
				}
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(limit - time.Second)
				now.Add(-1)
				if !turn.Done() {
					t.Error("Done() = false, want that it was in time")
				}
				turn.Done()
			})
		}
		all.Wait()
		if late.Load() != 0 || most.Load() != MaxStarts() {
			t.Errorf("%d were late and %d started at once, want 0 and %d", late.Load(), most.Load(), MaxStarts())
		}
	})
}

// TestTurnEnds: waiting ends with its context, a slow start is late, and both release their places.
func TestTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held []*Turn
		for range MaxStarts() {
			turn := NewTurn(time.Hour, func() {})
			if err := turn.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			held = append(held, turn)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waits := NewTurn(time.Second, func() { t.Error("the time spent waiting counted") })
		if err := waits.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await() = %v, want that of its context", err)
		}
		waits.Done()
		for _, turn := range held {
			turn.Done()
		}
		var late atomic.Bool
		slow := NewTurn(time.Second, func() { late.Store(true) })
		if err := slow.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if slow.Done() || !late.Load() {
			t.Errorf("a slow start was in time")
		}
		var none *Turn
		if err := none.Await(t.Context()); err != nil {
			t.Errorf("Await() without a turn = %v", err)
		}
	})
}
