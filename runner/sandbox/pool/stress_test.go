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

// TestStress has many runs of several shapes at once while guests fail, die and hang, and counts: never more guests than
// allowed, none used twice (the fake sees to that), every run served or told why not, and nothing left.
func TestStress(t *testing.T) {
	warm := int64(0)
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { warm += stress(t, rand.New(rand.NewPCG(seed, 1))) })
	}
	if warm < 200 { // few: the machine is always busy here
		t.Errorf("of %d runs, %d had an idle guest", 20*600, warm)
	}
}

func stress(t *testing.T, random *rand.Rand) (warm int64) {
	b := &fake{warmTime: 200 * time.Millisecond, coldTime: 300 * time.Millisecond, closeTime: 50 * time.Millisecond, keepWorkspace: random.IntN(2) == 0}
	opt := Options{Min: random.IntN(4), Max: 4 + random.IntN(20), MaxIdle: 1 + random.IntN(8), MaxWait: time.Minute, IdleExpiry: 3 * time.Second}
	p := New(b, &opt)
	var lock sync.Mutex // of random
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
	s := p.Stats()
	if served+refused != 600 || served < 500 || s.Running != 0 || s.Waiting != 0 {
		t.Errorf("served %d, refused %d, %+v", served, refused, s)
	}
	closePool(t, p, b)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most > opt.Max {
		t.Errorf("%d guests at once, at most %d were allowed", b.most, opt.Max)
	}
	return s.Warm
}

// TestWaitBeyondExpiry has a run wait for longer than a shape without runs is remembered. A clock set to a moment that is
// over would go off again and again, and time would stand still here.
func TestWaitBeyondExpiry(t *testing.T) {
	in(t, Options{Max: 1, MaxIdle: 1, MaxWait: time.Hour, IdleExpiry: time.Second}, func(t *testing.T, p *Pool, b *fake) {
		first := start(t, p, sandbox.Spec{})
		time.AfterFunc(time.Minute, func() { end(t, first) })
		if d := took(func() { end(t, start(t, p, sandbox.Spec{Tree: "other"})) }); d < time.Minute {
			t.Errorf("it waited %v", d)
		}
	})
}

// TestHeadStart has runs follow each other faster than a head start lasts: it is that of the first one.
func TestHeadStart(t *testing.T) {
	in(t, Options{Min: 8, HeadStart: 20 * time.Millisecond}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(10 * time.Second)
		for i := range 5 {
			end(t, start(t, p, sandbox.Spec{}))
			synctest.Wait()
			if s := p.Stats(); (s.Starting > 0) != (i >= 3) {
				t.Errorf("after run %d: %d guests are being started", i, s.Starting)
			}
			time.Sleep(7 * time.Millisecond)
		}
	})
}

// TestSettled: a run gets the youngest guest of those that have had time to settle, and else the oldest.
func TestSettled(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		ages []time.Duration
		want int
	}{
		{[]time.Duration{time.Hour, time.Minute, 0}, 1},
		{[]time.Duration{400 * time.Millisecond, 200 * time.Millisecond}, 0},
		{[]time.Duration{time.Hour, time.Minute}, 1},
	} {
		s := &shelf{}
		for _, age := range c.ages {
			s.idle = append(s.idle, &guest{since: now.Add(-age), idle: &fakeGuest{}, taken: make(chan struct{})})
		}
		want := s.idle[c.want]
		if got := (&Pool{}).take(s); got != want || len(s.idle) != len(c.ages)-1 {
			t.Errorf("%v: another guest was taken", c.ages)
		}
	}
}
