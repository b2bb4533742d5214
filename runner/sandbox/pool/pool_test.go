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

// in runs f with a pool over a fake whose guests take 200 ms to become ready, and 300 ms without a pool.
func in(t *testing.T, opt Options, f func(t *testing.T, p *Pool, b *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &fake{warmTime: 200 * time.Millisecond, coldTime: 300 * time.Millisecond, closeTime: 40 * time.Millisecond}
		p := New(b, &opt)
		f(t, p, b)
		closePool(t, p, b)
	})
}

// took returns how long f takes.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// settled waits until nothing is in progress.
func settled(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestColdThenWarm(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		var first sandbox.Process
		if d := took(func() { first = start(t, p, sandbox.Spec{}) }); d != b.coldTime {
			t.Errorf("the first run waited %v, want %v", d, b.coldTime)
		}
		if got := first.Secret(); got != "of the run" {
			t.Errorf("a cold guest's secret is %q, want the run's", got)
		}
		settled(time.Second)
		seen := map[string]bool{}
		for range 10 {
			var proc sandbox.Process
			if d := took(func() { proc = start(t, p, sandbox.Spec{}) }); d != 0 {
				t.Errorf("a warm run waited %v, want 0", d)
			}
			if seen[proc.Secret()] || proc.Secret() == "of the run" {
				t.Error("a guest or its secret was used twice")
			}
			seen[proc.Secret()] = true
			if _, err := proc.Bridge(t.Context()); err == nil {
				t.Error("the bridge was given twice: got no error, want an error")
			}
			end(t, proc)
			settled(time.Second)
		}
		end(t, first)
		if s := p.Stats(); s.Warm != 10 || s.Cold != 1 || s.Idle != 1 || s.Running != 0 {
			t.Errorf("Stats() = %+v, want 10 warm, 1 cold, 1 idle", s)
		}
	})
}

// TestDemand runs five at once several times, and then one at a time.
func TestDemand(t *testing.T) {
	in(t, Options{IdleTime: time.Minute}, func(t *testing.T, p *Pool, b *fake) {
		for round := range 3 {
			var runs sync.WaitGroup
			for range 5 {
				runs.Go(func() {
					var proc sandbox.Process
					if d := took(func() { proc = start(t, p, sandbox.Spec{}) }); round > 0 && d != 0 {
						t.Errorf("a run of round %d waited %v, want 0", round, d)
					}
					time.Sleep(time.Second)
					end(t, proc)
				})
			}
			runs.Wait()
			settled(3 * time.Second)
		}
		if got := p.Stats().Idle; got != 5 {
			t.Errorf("%d guests are idle, want 5", got)
		}
		for range 10 {
			end(t, start(t, p, sandbox.Spec{}))
			settled(40 * time.Second)
		}
		if s := p.Stats(); s.Idle > 2 || s.Warm < 20 {
			t.Errorf("after a quiet time: Stats() = %+v, want at most 2 idle", s)
		}
		settled(2 * time.Minute)
		if s := p.Stats(); s.Idle != 0 || len(p.sets) != 0 {
			t.Errorf("after a long time: Stats() = %+v with %d shapes, want nothing", s, len(p.sets))
		}
	})
}

// TestWaitForOneThatIsStarting lets a run find a guest that is still starting.
func TestWaitForOneThatIsStarting(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		end(t, start(t, p, sandbox.Spec{}))
		settled(headStart + 50*time.Millisecond)
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != 150*time.Millisecond {
			t.Errorf("waited %v for a guest that needed 150 ms more, want %v", d, 150*time.Millisecond)
		}
		if s := p.Stats(); s.Warm != 1 || s.Cold != 1 {
			t.Errorf("Stats() = %+v, want 1 warm, 1 cold", s)
		}
	})
	// It takes too long: the wait ends, and the run starts its own.
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		b.warmTime = time.Hour
		end(t, start(t, p, sandbox.Spec{}))
		settled(time.Second)
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != waitTime+b.coldTime {
			t.Errorf("waited %v, want %v", d, waitTime+b.coldTime)
		}
	})
	// The run gives up.
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		b.warmTime = time.Second
		end(t, start(t, p, sandbox.Spec{}))
		settled(100 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p.Start(ctx, sandbox.Spec{Runtime: sandbox.Python}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start() = %v, want the context's error", err)
		}
		settled(time.Minute)
		if s := p.Stats(); s.Idle == 0 {
			t.Errorf("Stats() = %+v, want an idle guest", s)
		}
	})
}

// TestMakeRoom uses a pool that is full of idle guests of another shape.
func TestMakeRoom(t *testing.T) {
	in(t, Options{MaxIdle: 3}, func(t *testing.T, p *Pool, b *fake) {
		fill(t, p, sandbox.Spec{Tree: "/a"}, 3)
		end(t, start(t, p, sandbox.Spec{Tree: "/b"}))
		settled(time.Second)
		for _, tree := range []string{"/b", "/a"} {
			if d := took(func() { end(t, start(t, p, sandbox.Spec{Tree: tree})) }); d != 0 {
				t.Errorf("%s waited %v, want 0", tree, d)
			}
			settled(time.Second)
		}
		if s := p.Stats(); s.Idle != 3 {
			t.Errorf("Stats() = %+v, want 3 idle", s)
		}
	})
}

// fill starts n runs at once, so that n guests are idle afterwards.
func fill(t *testing.T, p *Pool, spec sandbox.Spec, n int) {
	t.Helper()
	var runs sync.WaitGroup
	for range n {
		runs.Go(func() { end(t, start(t, p, spec)) })
	}
	runs.Wait()
	settled(time.Second)
	if s := p.Stats(); s.Idle != n {
		t.Fatalf("Stats() = %+v, want %d idle", s, n)
	}
}

// TestWorkspaceShapes uses a backend whose idle guests already have their workspace, which the pool learns from use.
func TestWorkspaceShapes(t *testing.T) {
	in(t, Options{MaxIdle: 4, IdleTime: time.Hour}, func(t *testing.T, p *Pool, b *fake) {
		b.keepWorkspace = true
		for i := range 100 {
			end(t, start(t, p, sandbox.Spec{Workspace: fmt.Sprint("/w", i)}))
			settled(time.Second)
		}
		if s := p.Stats(); s.Idle != 4 || s.Cold != 100 || len(p.sets) > 5 {
			t.Errorf("Stats() = %+v with %d shapes, want 4 idle, 100 cold", s, len(p.sets))
		}
		for i := 99; i > 95; i-- {
			proc := start(t, p, sandbox.Spec{Workspace: fmt.Sprint("/w", i)})
			if got, want := proc.(*process).Process.(*fakeProcess).spec.Workspace, fmt.Sprint("/w", i); got != want {
				t.Errorf("the workspace is %q, want %q", got, want)
			}
			end(t, proc)
		}
		if s := p.Stats(); s.Warm != 4 {
			t.Errorf("Stats() = %+v, want 4 warm", s)
		}
	})
}

func TestDead(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		fill(t, p, sandbox.Spec{}, 2)
		b.mu.Lock()
		for g := range b.guests {
			g.end()
		}
		b.mu.Unlock()
		settled(0)
		if s := p.Stats(); s.Idle != 0 || s.Died != 2 {
			t.Errorf("Stats() = %+v, want 0 idle, 2 died", s)
		}
		end(t, start(t, p, sandbox.Spec{}))
		settled(time.Second)
		if s := p.Stats(); s.Idle != 1 {
			t.Errorf("Stats() = %+v, want 1 idle", s)
		}
	})
	// The end of the guest is noticed only by the run that wants it.
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		fill(t, p, sandbox.Spec{}, 1)
		p.mu.Lock()
		b.mu.Lock()
		for g := range b.guests {
			g.end()
		}
		b.mu.Unlock()
		p.mu.Unlock()
		end(t, start(t, p, sandbox.Spec{}))
		if s := p.Stats(); s.Cold != 2 || s.Warm != 0 {
			t.Errorf("Stats() = %+v, want 2 cold", s)
		}
	})
}

func TestWarmFails(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		b.warmErr = errors.New("no daemon")
		for range 3 {
			if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != b.coldTime {
				t.Errorf("waited %v, want %v", d, b.coldTime)
			}
			settled(time.Minute)
		}
		if b.warmed != 3 {
			t.Errorf("tried %d times, want once for each run", b.warmed)
		}
		b.warmErr = nil
		end(t, start(t, p, sandbox.Spec{}))
		settled(time.Second)
		if s := p.Stats(); s.Idle != 1 || s.Failed != 3 {
			t.Errorf("Stats() = %+v, want 1 idle, 3 failed", s)
		}
	})
	// A guest that starts and says nothing.
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		b.mute = true
		end(t, start(t, p, sandbox.Spec{}))
		settled(readyTimeout + time.Second)
		if s := p.Stats(); s.Failed != 1 || s.Idle != 0 || s.Starting != 0 {
			t.Errorf("Stats() = %+v, want 1 failed", s)
		}
	})
}

func TestAdoptFails(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		fill(t, p, sandbox.Spec{}, 1)
		b.adoptErr = errors.New("cannot mount")
		if d := took(func() { end(t, start(t, p, sandbox.Spec{})) }); d != b.coldTime {
			t.Errorf("waited %v, want %v", d, b.coldTime)
		}
		if s := p.Stats(); s.Failed != 1 || s.Cold != 2 || s.Warm != 0 {
			t.Errorf("Stats() = %+v, want 1 failed, 2 cold", s)
		}
	})
}

func TestClose(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		running := start(t, p, sandbox.Spec{})
		settled(headStart + 50*time.Millisecond)
		wait := make(chan error, 1)
		go func() { _, err := p.Start(t.Context(), sandbox.Spec{Runtime: sandbox.Python}); wait <- err }()
		settled(0)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-wait; err == nil {
			t.Error("a run that waited got a guest from a closed pool: got no error, want an error")
		}
		if _, err := running.Wait(); err != nil { // it was killed
			t.Error(err)
		}
		if _, err := p.Start(t.Context(), sandbox.Spec{}); err == nil {
			t.Error("a closed pool started a run: got no error, want an error")
		}
	})
	// While one guest is idle, another is starting, and one is started for a run.
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		fill(t, p, sandbox.Spec{}, 1)
		end(t, start(t, p, sandbox.Spec{Tree: "/b"}))
		settled(headStart)
		b.coldTime = time.Second
		go func() {
			proc, err := p.Start(t.Context(), sandbox.Spec{Runtime: sandbox.Python, Tree: "/c"})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := proc.Wait(); err != nil {
				t.Error(err)
			}
		}()
		settled(10 * time.Millisecond)
		if s := p.Stats(); s.Idle != 1 || s.Starting != 1 {
			t.Errorf("Stats() = %+v, want 1 idle, 1 starting", s)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		settled(2 * time.Second)
	})
}

// TestBounds checks that idle guests are started with the limits in their shape and, where it has none, with the widest limits that runs
// have asked for.
func TestBounds(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		b.keepMemory = true
		for _, files := range []int{10, 5000, 20} {
			end(t, start(t, p, sandbox.Spec{Limits: sandbox.Limits{Memory: 1 << 20, Files: files}}))
			settled(time.Second)
		}
		last := b.specs[len(b.specs)-1].Limits
		if last.Memory != 1<<20 || last.Files != 5000 || last.Output == 0 || last.CPU != 0 {
			t.Errorf("the last guest was started with %+v, want the shape's memory and 5000 files", last)
		}
	})
}

func TestStartOfEndedContext(t *testing.T) {
	in(t, Options{}, func(t *testing.T, p *Pool, b *fake) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Start(ctx, sandbox.Spec{}); err == nil || b.started != 0 {
			t.Errorf("Start() = %v with %d guests started, want an error and none", err, b.started)
		}
	})
}
