package mcpserver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestGateShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(3, 2, 10, time.Minute)
		enter := func(who string) func() {
			leave, err := g.enter(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		a, b := enter("ada"), enter("ada")
		got := make(chan string, 10)
		for _, who := range []string{"ada", "bob"} {
			go func() { leave := enter(who); got <- who; leave() }()
			synctest.Wait()
		}
		if len(got) != 1 || <-got != "bob" { // the third place is not for ada
			t.Error("bob had to wait")
		}
		a()
		synctest.Wait()
		if len(got) != 1 || <-got != "ada" {
			t.Error("ada waits for ever")
		}
		b()
	})
}

func TestGateBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, 1, 1, time.Minute)
		leave, err := g.enter(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 2)
		go func() { _, err := g.enter(t.Context(), "x"); errs <- err }()
		synctest.Wait()
		if _, err := g.enter(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "wait already") {
			t.Errorf("a full queue: %v", err)
		}
		var busy *busyError
		if err := <-errs; !errors.As(err, &busy) {
			t.Errorf("waited too long: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, err := g.enter(ctx, "x"); errs <- err }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		leave()
		if leave, err = g.enter(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		leave()
		if g.all != 0 || len(g.taken) != 0 || len(g.waiting) != 0 {
			t.Errorf("left over: %+v", g)
		}
	})
}

// TestGateCrowd: however many come and go, there are never more than may be, and no place is lost.
func TestGateCrowd(t *testing.T) {
	g := newGate(4, 3, 1000, time.Minute)
	var now, most atomic.Int64
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 0 {
				time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
			}
			defer cancel()
			leave, err := g.enter(ctx, string(rune('a'+i%5)))
			if err != nil {
				return
			}
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
			leave()
		})
	}
	all.Wait()
	if most.Load() > 4 || g.all != 0 || len(g.taken) != 0 || len(g.waiting) != 0 {
		t.Errorf("at most %d at once; left over: %+v", most.Load(), g)
	}
}
