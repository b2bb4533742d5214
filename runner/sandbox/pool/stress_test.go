package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestStress starts many runs of several shapes at once while guests fail, die and hang. It checks that there are never more idle guests
// than allowed, that none is used twice (the fake panics), that every run is served, and that nothing is left.
func TestStress(t *testing.T) {
	warm := int64(0)
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { warm += stress(t, rand.New(rand.NewPCG(seed, 1))) })
	}
	if warm < 200 { // low, because the machine is always busy here
		t.Errorf("of %d runs, %d had an idle guest, want at least 200", 20*600, warm)
	}
}

func stress(t *testing.T, random *rand.Rand) (warm int64) {
	b := &fake{warmTime: 200 * time.Millisecond, coldTime: 300 * time.Millisecond, closeTime: 50 * time.Millisecond, keepWorkspace: random.IntN(2) == 0}
	opt := Options{MaxIdle: 1 + random.IntN(8), IdleTime: 3 * time.Second}
	p := New(b, &opt)
	var lock sync.Mutex // guards random
	pick := func(n int) int { lock.Lock(); defer lock.Unlock(); return random.IntN(n) }
	stop := make(chan struct{})
	var runs, chaos sync.WaitGroup
	chaos.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(pick(500)) * time.Millisecond):
			}
			if n := p.Stats().Idle; n > opt.MaxIdle {
				t.Errorf("%d guests are idle, want at most %d", n, opt.MaxIdle)
			}
			b.mu.Lock()
			b.warmErr, b.adoptErr = nil, nil
			switch pick(6) {
			case 0:
				b.warmErr = errors.New("no")
			case 1:
				b.adoptErr = errors.New("no")
			case 2:
				for g := range b.guests {
					if g.owner == "" {
						g.end()
						break
					}
				}
			}
			b.mu.Unlock()
		}
	})
	served, refused := 0, 0
	for range 30 {
		runs.Go(func() {
			for range 20 {
				time.Sleep(time.Duration(pick(2000)) * time.Millisecond)
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if pick(10) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(pick(300))*time.Millisecond)
				}
				proc, err := tryStart(ctx, p, sandbox.Spec{Tree: fmt.Sprint(pick(3)), Workspace: fmt.Sprint(pick(5))})
				if err == nil {
					time.Sleep(time.Duration(pick(400)) * time.Millisecond)
					end(t, proc)
				} else if ctx.Err() == nil {
					t.Errorf("refused: %v", err)
				}
				cancel()
				lock.Lock()
				if err == nil {
					served++
				} else {
					refused++
				}
				lock.Unlock()
			}
		})
	}
	runs.Wait()
	close(stop)
	chaos.Wait()
	settled(10 * time.Second)
	s := p.Stats()
	if served+refused != 600 || served < 500 || s.Running != 0 {
		t.Errorf("served %d, refused %d, %+v, want served+refused 600, at least 500 and Running 0", served, refused, s)
	}
	closePool(t, p, b)
	return s.Warm
}
