package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// in runs f with a pool over a fake whose guests take 200 ms to get ready, and 300 ms where there is no pool.
func in(t *testing.T, opt Options, f func(t *testing.T, p *Pool, b *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &fake{warmTime: 200 * time.Millisecond, coldTime: 300 * time.Millisecond, closeTime: 40 * time.Millisecond}
		p := New(b, &opt)
		f(t, p, b)
		closePool(t, p, b)
	})
}

// took is how long f takes.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// settled waits until nothing is under way.
func settled(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestColdThenWarm(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		var first sandbox.Process
		if d := took(func() { first = start(t, p, sandbox.Spec{}) }); d != b.coldTime {
			t.Errorf("the first run waited %v", d)
		}
		if first.Secret() != "of the run" {
			t.Error("a cold guest has another secret than the run")
		}
		settled(time.Second)
		seen := map[string]bool{}
		for range 10 {
			var proc sandbox.Process
			if d := took(func() { proc = start(t, p, sandbox.Spec{}) }); d != 0 {
				t.Errorf("a warm run waited %v", d)
			}
			if seen[proc.Secret()] || proc.Secret() == "of the run" {
				t.Error("a guest or its secret was used twice")
			}
			seen[proc.Secret()] = true
			if _, err := proc.Bridge(t.Context()); err == nil {
				t.Error("the bridge was given twice")
			}
			end(t, proc)
			settled(time.Second)
		}
		end(t, first)
		s := p.Stats()
		if s.Warm != 10 || s.Cold != 1 || s.Idle != 1 || s.Running != 0 || s.Waited != 0 || s.RefillTime != b.warmTime || s.Refills != 11 {
			t.Errorf("%+v", s)
		}
	})
}

func TestKeep(t *testing.T) {
	in(t, Options{Min: 3, IdleExpiry: time.Minute}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python, Tree: "/tree", Guest: map[string][]byte{"guest.py": nil}, Args: []string{"-I"}})
		settled(time.Hour)
		if s := p.Stats(); s.Idle != 3 || s.Refills != 3 {
			t.Errorf("%+v", s)
		}
		for _, spec := range b.specs {
			if spec.Tree != "/tree" || len(spec.Guest) != 1 || len(spec.Args) != 1 || spec.ID == "" || spec.Secret == "" || spec.Limits.Memory == 0 {
				t.Errorf("started with %+v", spec)
			}
		}
		for range 3 {
			if d := took(func() { end(t, start(t, p, sandbox.Spec{Tree: "/tree"})) }); d != 0 {
				t.Errorf("waited %v", d)
			}
		}
		if d := took(func() { end(t, start(t, p, sandbox.Spec{Tree: "/other"})) }); d != b.coldTime {
			t.Errorf("another tree's guest took %v", d)
		}
	})
}

// TestDemand runs five at once again and again, and then stops.
func TestDemand(t *testing.T) {
	in(t, Options{IdleExpiry: time.Minute}, func(t *testing.T, p *Pool, b *fake) {
		for round := range 3 {
			var runs sync.WaitGroup
			for range 5 {
				runs.Go(func() {
					var proc sandbox.Process
					if d := took(func() { proc = start(t, p, sandbox.Spec{}) }); round > 0 && d != 0 {
						t.Errorf("round %d waited %v", round, d)
					}
					time.Sleep(time.Second)
					end(t, proc)
				})
			}
			runs.Wait()
			settled(3 * time.Second)
		}
		many := p.Stats().Idle
		if many < 4 {
			t.Errorf("%d idle while five are used at once", many)
		}
		// One at a time needs one.
		for range 10 {
			end(t, start(t, p, sandbox.Spec{}))
			settled(20 * time.Second)
		}
		if s := p.Stats(); s.Idle != 1 || s.Expired < int64(many)-1 {
			t.Errorf("after a quiet time: %+v", s)
		}
		settled(2 * time.Minute)
		if s := p.Stats(); s.Idle != 0 || len(p.shelves) != 0 {
			t.Errorf("after a long time: %+v, %d shelves", s, len(p.shelves))
		}
	})
}

func TestWaitForOneOnTheWay(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(50 * time.Millisecond)
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != 150*time.Millisecond {
			t.Errorf("waited %v for a guest that needed 150 ms more", d)
		}
		if s := p.Stats(); s.Warm != 1 || s.Cold != 0 || s.Waited != 1 {
			t.Errorf("%+v", s)
		}
	})
	// It never comes: the wait ends, and the run starts its own.
	in(t, Options{MaxWait: time.Second}, func(t *testing.T, p *Pool, b *fake) {
		b.warmTime = 20 * time.Second
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != time.Second+b.coldTime {
			t.Errorf("waited %v", d)
		}
	})
	in(t, Options{MaxWait: -1}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(0)
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != b.coldTime {
			t.Errorf("waited %v", d)
		}
	})
}

func TestFull(t *testing.T) {
	in(t, Options{Max: 2, MaxWait: 5 * time.Second}, func(t *testing.T, p *Pool, b *fake) {
		a, c := start(t, p, sandbox.Spec{}), start(t, p, sandbox.Spec{})
		settled(time.Second)
		// A third waits until one ends.
		time.AfterFunc(2*time.Second, func() { end(t, a) })
		var third sandbox.Process
		if d := took(func() { third = start(t, p, sandbox.Spec{}) }); d != 2*time.Second+b.coldTime {
			t.Errorf("waited %v", d)
		}
		// A fourth waits in vain.
		var err error
		d := took(func() { _, err = p.Start(t.Context(), sandbox.Spec{Runtime: sandbox.Python}) })
		var busy *BusyError
		if !errors.As(err, &busy) || busy.Max != 2 || d != 5*time.Second || busy.Hint() == "" {
			t.Errorf("after %v: %v", d, err)
		}
		// A fifth gives up.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if d := took(func() { _, err = p.Start(ctx, sandbox.Spec{Runtime: sandbox.Python}) }); !errors.Is(err, context.DeadlineExceeded) || d != time.Second {
			t.Errorf("after %v: %v", d, err)
		}
		end(t, c)
		end(t, third)
		if s := p.Stats(); b.most > 2 || s.Busy != 1 || s.Waiting != 0 {
			t.Errorf("%d guests at once, %+v", b.most, s)
		}
	})
}

// TestGiveWay has a pool that is full of idle guests of other shapes.
func TestGiveWay(t *testing.T) {
	in(t, Options{Max: 3, MaxIdle: 3, Min: 3}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python, Tree: "/a"})
		settled(time.Second)
		if s := p.Stats(); s.Idle != 3 {
			t.Fatalf("%+v", s)
		}
		var proc sandbox.Process
		if d := took(func() { proc = start(t, p, sandbox.Spec{Tree: "/b"}) }); d != b.closeTime+b.coldTime {
			t.Errorf("waited %v", d)
		}
		end(t, proc)
		settled(time.Second)
		// What was used last has its guests; what was kept gets the rest.
		if d := took(func() { end(t, start(t, p, sandbox.Spec{Tree: "/b"})) }); d != 0 {
			t.Errorf("the shape used last waited %v", d)
		}
		settled(time.Second)
		if d := took(func() { end(t, start(t, p, sandbox.Spec{Tree: "/a"})) }); d != 0 {
			t.Errorf("the kept shape waited %v", d)
		}
		if b.most > 3 {
			t.Errorf("%d at once", b.most)
		}
	})
}

// TestWorkspaceShapes is a backend whose idle guests have their workspace already: each is learnt from use.
func TestWorkspaceShapes(t *testing.T) {
	in(t, Options{MaxIdle: 4, IdleExpiry: time.Hour}, func(t *testing.T, p *Pool, b *fake) {
		b.keepWorkspace = true
		for i := range 100 {
			end(t, start(t, p, sandbox.Spec{Workspace: fmt.Sprint("/w", i)}))
			settled(time.Second)
		}
		if s := p.Stats(); s.Idle != 4 || s.Cold != 100 {
			t.Errorf("%+v", s)
		}
		if len(p.shelves) > maxShelves {
			t.Errorf("%d shapes are remembered", len(p.shelves))
		}
		for i := 99; i > 95; i-- {
			proc := start(t, p, sandbox.Spec{Workspace: fmt.Sprint("/w", i)})
			if w := proc.(*process).Process.(*fakeProcess).spec.Workspace; w != fmt.Sprint("/w", i) {
				t.Errorf("got the workspace %q", w)
			}
			end(t, proc)
		}
		if s := p.Stats(); s.Warm != 4 {
			t.Errorf("the last four were not kept: %+v", s)
		}
	})
}

func TestDead(t *testing.T) {
	in(t, Options{Min: 2}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(time.Second)
		b.mu.Lock()
		for g := range b.guests {
			g.end()
		}
		b.mu.Unlock()
		settled(0)
		if s := p.Stats(); s.Idle != 0 || s.Died != 2 {
			t.Errorf("%+v", s)
		}
		settled(10 * time.Second)
		if s := p.Stats(); s.Idle != 2 {
			t.Errorf("they were not replaced: %+v", s)
		}
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != 0 {
			t.Errorf("waited %v", d)
		}
	})
	// Death without anybody to notice it but the run that wants the guest.
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(time.Second)
		p.mu.Lock()
		b.mu.Lock()
		for g := range b.guests {
			g.end()
		}
		b.mu.Unlock()
		s := p.shelves[b.Shape(sandbox.Spec{Runtime: sandbox.Python})]
		if g := p.take(s); g != nil {
			t.Error("a dead guest was handed out")
		}
		p.mu.Unlock()
	})
}

func TestWarmFails(t *testing.T) {
	in(t, Options{Min: 2}, func(t *testing.T, p *Pool, b *fake) {
		b.warmErr = errors.New("no daemon")
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(10 * time.Minute)
		if b.warmed < 10 || b.warmed > 60 {
			t.Errorf("tried %d times in ten minutes", b.warmed)
		}
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != b.coldTime {
			t.Errorf("waited %v", d)
		}
		b.mu.Lock()
		b.warmErr = nil
		b.mu.Unlock()
		settled(2 * maxRetry)
		if s := p.Stats(); s.Idle < 2 {
			t.Errorf("it did not recover: %+v", s)
		}
	})
	// A guest that starts and says nothing.
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		b.mute = true
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(readyTimeout + time.Second)
		if s := p.Stats(); s.Failed != 1 || s.Idle != 0 {
			t.Errorf("%+v", s)
		}
		b.mute = false
		settled(2 * maxRetry)
	})
}

func TestAdoptFails(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(time.Second)
		b.adoptErr = errors.New("cannot mount")
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != b.coldTime {
			t.Errorf("waited %v", d)
		}
		if s := p.Stats(); s.Failed != 1 || s.Cold != 1 || s.Warm != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestClose(t *testing.T) {
	in(t, Options{Max: 1}, func(t *testing.T, p *Pool, b *fake) {
		running := start(t, p, sandbox.Spec{})
		wait := make(chan error, 1)
		go func() { _, err := p.Start(t.Context(), sandbox.Spec{Runtime: sandbox.Python}); wait <- err }()
		settled(0)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-wait; err == nil {
			t.Error("a run that waited got a guest from a closed pool")
		}
		if _, err := running.Wait(); err != nil { // it was killed
			t.Error(err)
		}
		if _, err := p.Start(t.Context(), sandbox.Spec{}); err == nil {
			t.Error("a closed pool started a run")
		}
		p.Keep(sandbox.Spec{})
	})
	// While one guest is idle, others start, and one is started for a run.
	in(t, Options{Min: 4, Starts: 1}, func(t *testing.T, p *Pool, b *fake) {
		p.Keep(sandbox.Spec{Runtime: sandbox.Python})
		settled(300 * time.Millisecond)
		b.coldTime = time.Second
		go func() {
			proc, err := p.Start(t.Context(), sandbox.Spec{Runtime: sandbox.Python, Tree: "/other"})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := proc.Wait(); err != nil {
				t.Error(err)
			}
		}()
		settled(10 * time.Millisecond)
		if s := p.Stats(); s.Idle != 1 || s.Starting != 1 || s.Running != 1 {
			t.Errorf("%+v", s)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		settled(time.Second)
	})
}

// TestBounds has idle guests started with what their shape says, and else with the widest limits that runs have asked for.
func TestBounds(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		b.keepMemory = true
		for _, files := range []int{10, 5000, 20} {
			end(t, start(t, p, sandbox.Spec{Limits: sandbox.Limits{Memory: 1 << 20, Files: files}}))
			settled(time.Second)
		}
		last := b.specs[len(b.specs)-1].Limits
		if last.Memory != 1<<20 || last.Files != 5000 || last.Output == 0 || last.CPU != 0 {
			t.Errorf("the last was started with %+v", last)
		}
	})
}

func TestStartOfEndedContext(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Start(ctx, sandbox.Spec{}); err == nil || b.started != 0 {
			t.Error("started")
		}
	})
}
