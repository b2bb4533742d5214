package docker_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// An engine that goes away ends its runs with an error that says so. What it leaves is gone when it is up again.
func TestEngineGoesAway(t *testing.T) {
	t.Parallel()
	engine := newEngine(t)
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.Host, o.RuntimeDir = engine.host(), dir })
	for _, c := range []struct {
		name string
		end  func(*ownEngine, *running)
		back func(*ownEngine)
	}{
		{"killed", func(e *ownEngine, _ *running) { e.signal(syscall.SIGKILL) }, func(e *ownEngine) { e.wait(); e.start() }},
		{"stopped", func(e *ownEngine, _ *running) { e.signal(syscall.SIGTERM) }, func(e *ownEngine) { e.wait(); e.start() }},
		{"frozen", func(e *ownEngine, r *running) { e.signal(syscall.SIGSTOP); r.Kill() }, func(e *ownEngine) { e.signal(syscall.SIGCONT) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startBusy(t, b, engine)
			idle, conn := warm(t, b, newGuest(t, sandbox.Python, waiting[sandbox.Python]))
			defer conn.Close()
			began := time.Now()
			c.end(engine, r)
			exit, err := r.Wait()
			patience := lostTime
			if c.name == "frozen" { // one that is merely slow looks the same at first
				patience += 25 * time.Second
			}
			if took := time.Since(began); took > patience {
				t.Errorf("it took %v to notice, want at most %v", took, patience)
			}
			var lost *docker.EngineLostError
			if !errors.As(err, &lost) || !strings.Contains(err.Error(), "went away while the script was running") || lost.Hint() == "" {
				t.Errorf("exit %+v, error %v", exit, err)
			}
			if err := syscall.Kill(r.pid, 0); !errors.Is(err, syscall.ESRCH) {
				waitFor(t, "the guest's end", func() bool { return errors.Is(syscall.Kill(r.pid, 0), syscall.ESRCH) })
			}
			if c.name != "frozen" { // nobody asks it for anything
				select {
				case <-idle.Done():
				case <-time.After(lostTime):
					t.Error("the idle guest has not ended")
				}
			}
			began = time.Now()
			if err := idle.Close(); err != nil && !errors.As(err, &lost) {
				t.Errorf("close: %v", err)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("it took %v to close, want at most %v", took, patience)
			}
			c.back(engine)
			if err := b.RemoveOwned(t.Context()); err != nil {
				t.Errorf("RemoveOwned() = %v", err)
			}
			waitFor(t, "the end of what is left", func() bool { return len(engine.left()) == 0 })
			nothingLeft(t, r.id, dir)
			if got := newGuest(t, sandbox.Python, `print("again")`).ok(t, b); got != "again\n" {
				t.Errorf("afterwards it printed %q, want %q", got, "again\n")
			}
		})
	}
}

// An engine may go while it starts a container.
func TestEngineGoesAwayDuringAStart(t *testing.T) {
	t.Parallel()
	engine := newEngine(t)
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.Host, o.RuntimeDir = engine.host(), dir })
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 60 * time.Millisecond} {
		g := newGuest(t, sandbox.Python, "while True: pass")
		time.AfterFunc(after, func() { engine.cmd.Process.Kill() })
		began := time.Now()
		p, err := b.Start(t.Context(), g.Spec)
		if err == nil {
			_, err = p.Wait()
		}
		if took := time.Since(began); took > lostTime {
			t.Errorf("after %v: it took %v, want at most %v", after, took, lostTime)
		}
		var down *docker.EngineError
		var lost *docker.EngineLostError
		if !errors.As(err, &down) && !errors.As(err, &lost) {
			t.Errorf("after %v: error %v", after, err)
		}
		engine.wait()
		engine.start()
		if err := b.RemoveOwned(t.Context()); err != nil {
			t.Errorf("RemoveOwned() = %v", err)
		}
		waitFor(t, "the end of what is left", func() bool { return len(engine.left()) == 0 })
		nothingLeft(t, g.ID, dir)
	}
}

// running is a run whose guest never yields.
type running struct {
	sandbox.Process
	id   string
	conn net.Conn
	pid  int // of the container's first process
}

func startBusy(t *testing.T, b *docker.Backend, e *ownEngine) *running {
	t.Helper()
	g := newGuest(t, sandbox.Python, stubborn)
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r := &running{Process: p, id: g.ID, conn: conn}
	c := e.client()
	defer c.Close()
	list, err := c.ContainerList(context.Background(), client.ContainerListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("%d containers, %v", len(list.Items), err)
	}
	found, err := c.ContainerInspect(context.Background(), list.Items[0].ID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.pid = found.Container.State.Pid; r.pid <= 1 {
		t.Fatal("no process " + strconv.Itoa(r.pid))
	}
	return r
}
