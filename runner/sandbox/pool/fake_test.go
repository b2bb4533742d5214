package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// fake is a Warmer whose guests are values. It checks that its users keep the contract: each guest is adopted or closed, once, and each
// process is waited for.
type fake struct {
	warmTime, coldTime, closeTime time.Duration
	// warmErr and adoptErr are returned when a guest is started or adopted. mute makes guests never say hello.
	warmErr, adoptErr error
	mute              bool
	keepWorkspace     bool // the workspace is part of the shape
	keepMemory        bool

	mu              sync.Mutex
	warmed, started int
	guests          map[*fakeGuest]bool // guests that are idle or running
	closed          bool
	specs           []sandbox.Spec // specs passed to Warm
}

func (f *fake) Name() string               { return "fake" }
func (f *fake) Strength() sandbox.Strength { return sandbox.SharedKernel }
func (f *fake) Runtime(sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.Python, true
}
func (f *fake) Probe(context.Context) sandbox.Status { return sandbox.Status{Usable: true} }
func (f *fake) Sweep(context.Context) error          { return nil }
func (f *fake) Close() error                         { f.closed = true; return nil }

func (f *fake) Shape(spec sandbox.Spec) sandbox.Shape {
	s := sandbox.Shape{Runtime: spec.Runtime, Tree: spec.Tree}
	if f.keepWorkspace {
		s.Workspace = spec.Workspace
	}
	if f.keepMemory {
		s.Limits.Memory = spec.Limits.Memory
	}
	return s
}

// fakeGuest is an idle guest, and then its process.
type fakeGuest struct {
	backend     *fake
	spec        sandbox.Spec
	secret      string
	host, guest net.Conn
	done        chan struct{}
	end         func()
	once        sync.Once
	owner       string // what happened to it: "", "adopted", "closed", "cold"
	bridged     bool
	waited      bool
	told        chan struct{} // closed when it has been told to wait
}

func (f *fake) add(spec sandbox.Spec) *fakeGuest {
	g := &fakeGuest{backend: f, spec: spec, secret: spec.Secret, told: make(chan struct{}), done: make(chan struct{})}
	g.host, g.guest = net.Pipe()
	g.end = func() { g.once.Do(func() { close(g.done); g.guest.Close() }) }
	if f.guests == nil {
		f.guests = map[*fakeGuest]bool{}
	}
	f.guests[g] = true
	return g
}

func (f *fake) remove(g *fakeGuest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.guests, g)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (f *fake) Warm(ctx context.Context, spec sandbox.Spec) (sandbox.Idle, error) {
	f.mu.Lock()
	f.warmed++
	f.specs = append(f.specs, spec)
	err, mute, pause := f.warmErr, f.mute, f.warmTime
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, pause); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.add(spec)
	if !mute {
		go g.greet()
	}
	return g, nil
}

func (f *fake) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := sleep(ctx, f.coldTime); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started++
	g := f.add(spec)
	g.owner = "cold"
	go func() { _, _ = g.guest.Write([]byte("hello " + g.secret)) }()
	return &fakeProcess{g}, nil
}

// greet says hello and receives the message that there is no job yet.
func (g *fakeGuest) greet() {
	_, _ = g.guest.Write([]byte("hello " + g.secret))
	const wait = "\x00\x00\x00\x0f" + `{"type":"wait"}`
	heard := make([]byte, len(wait))
	if _, err := io.ReadFull(g.guest, heard); err == nil && string(heard) == wait {
		close(g.told)
	}
}

func (g *fakeGuest) Bridge(context.Context) (net.Conn, error) {
	if g.bridged {
		return nil, errors.New("bridge twice")
	}
	g.bridged = true
	return g.host, nil
}

func (g *fakeGuest) Done() <-chan struct{} { return g.done }

func (g *fakeGuest) Adopt(_ context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	g.backend.mu.Lock()
	defer g.backend.mu.Unlock()
	if g.owner != "" {
		panic("adopted a guest that is " + g.owner)
	}
	if g.backend.Shape(spec) != g.backend.Shape(g.spec) {
		panic("adopted a guest of another shape")
	}
	g.owner = "adopted"
	select {
	case <-g.told:
	case <-g.done: // possibly before the message arrived
	}
	select {
	case <-g.done:
		delete(g.backend.guests, g)
		return nil, errors.New("it has ended")
	default:
	}
	if err := g.backend.adoptErr; err != nil {
		delete(g.backend.guests, g)
		g.end()
		return nil, err
	}
	g.spec = spec
	return &fakeProcess{g}, nil
}

func (g *fakeGuest) Close() error {
	g.backend.mu.Lock()
	if g.owner != "" {
		panic("closed a guest that is " + g.owner)
	}
	g.owner = "closed"
	g.backend.mu.Unlock()
	g.end()
	time.Sleep(g.backend.closeTime)
	g.backend.remove(g)
	return nil
}

type fakeProcess struct{ *fakeGuest }

func (p *fakeProcess) Secret() string { return p.secret }
func (p *fakeProcess) Kill()          { p.end() }
func (p *fakeProcess) Wait() (sandbox.Exit, error) {
	if p.waited {
		panic("waited twice")
	}
	p.waited = true
	<-p.done
	p.backend.remove(p.fakeGuest)
	return sandbox.Exit{}, nil
}

// alive counts the existing guests.
func (f *fake) alive() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.guests)
}

// start starts a run and checks that its guest greets it with its own secret.
func start(t *testing.T, p *Pool, spec sandbox.Spec) sandbox.Process {
	t.Helper()
	proc, err := tryStart(t.Context(), p, spec)
	if err != nil {
		t.Fatal(err)
	}
	return proc
}

func tryStart(ctx context.Context, p *Pool, spec sandbox.Spec) (sandbox.Process, error) {
	if spec.Runtime == "" {
		spec.Runtime = sandbox.Python
	}
	spec.Secret = "of the run"
	proc, err := p.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	conn, err := proc.Bridge(ctx)
	if err != nil {
		proc.Kill()
		_, waitErr := proc.Wait()
		return nil, errors.Join(err, waitErr)
	}
	defer conn.Close()
	text := make([]byte, 100)
	n := 0
	for n < len("hello ")+len(proc.Secret()) {
		more, err := conn.Read(text[n:min(n+5, len(text))]) // in small pieces
		if err != nil {
			return nil, err
		}
		n += more
	}
	if string(text[:n]) != "hello "+proc.Secret() {
		return nil, fmt.Errorf("it said %q", text[:n])
	}
	return proc, nil
}

func end(t *testing.T, proc sandbox.Process) {
	t.Helper()
	proc.Kill()
	if _, err := proc.Wait(); err != nil {
		t.Error(err)
	}
}

// closePool closes the pool and checks that nothing is left.
func closePool(t *testing.T, p *Pool, f *fake) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n := f.alive(); n != 0 || !f.closed {
		t.Errorf("%d guests are left, backend closed: %v", n, f.closed)
	}
}
