package docker

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/kernelview"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// process is one container with its socket, folder and connections to the engine. launch starts it; connect
// connects a run's streams, at once or, for a container that waits for a run, later.
type process struct {
	*supervise.Guest
	backend  *Backend
	name     string  // the container's
	dir      *runDir // nil: the engine is remote
	id       string
	secret   string
	created  bool
	keeps    bool // the engine does not remove the container when it has ended
	watched  bool // only this process enforces its limits
	listener *net.UnixListener
	attached client.ContainerAttachResult
	oom      client.EventsResult
	removed  client.ContainerWaitResult

	watching     context.Context // that of the requests that watch the container; ended by stopWatching
	stopWatching context.CancelFunc
	watchers     sync.WaitGroup

	view      atomic.Pointer[kernelview.View] // nil until the container was found on this machine
	viewEnded chan struct{}                   // closed when view has the final figures; nil without a view
	reported  *kernelview.Counters            // the final figures of a remote engine's container; nil: none

	accepted chan net.Conn // delivers the guest's connection; closed if none will come
	kill     chan struct{} // closed when the guest is to be ended
	over     chan struct{} // closed at the first sign that the guest has ended
	setOver  func()        // closes over, once
	gone     chan struct{} // closed when the container is gone; what awaitEnd wrote is then final
	done     chan struct{} // closed when nothing is left of it; exit and err are then final

	// Set for a remote engine; see remoteProcess.
	ready     func() error  // waits until the container may be started
	stopRelay func() bool   // kills the guest through the relay; reports whether the container then ends by itself
	grace     time.Duration // how much longer than killTime the end may take

	lostEngine bool // the engine will not report the end
	exit       sandbox.Exit
	err        error
}

func newProcess(b *Backend, name, secret string) *process {
	kill, over := make(chan struct{}), make(chan struct{})
	return &process{
		Guest: supervise.New(func() { close(kill) }), backend: b, name: name, secret: secret, accepted: make(chan net.Conn, 1),
		kill: kill, over: over, setOver: sync.OnceFunc(func() { close(over) }), gone: make(chan struct{}), done: make(chan struct{}),
	}
}

// accept takes one connection, then removes the socket and the secret: no other process can connect.
func (p *process) accept() {
	defer close(p.accepted)
	conn, err := p.listener.AcceptUnix()
	p.listener.Close()
	if rm := os.Remove(p.dir.secret()); rm != nil && !os.IsNotExist(rm) {
		p.backend.log.Warn("remove a run's secret", "error", rm)
	}
	if err == nil {
		p.accepted <- conn
	}
}

// Bridge waits for the guest's connection.
func (p *process) Bridge(ctx context.Context) (net.Conn, error) {
	select {
	case conn, ok := <-p.accepted:
		if ok {
			return conn, nil
		}
		return nil, errors.New("the guest ended before it connected")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Secret returns the secret that the guest will send.
func (p *process) Secret() string { return p.secret }

// Wait waits until nothing is left of the container.
func (p *process) Wait() (sandbox.Exit, error) {
	<-p.done
	return p.exit, p.err
}

// drain waits for the last of the output. The engine ends the stream when it has delivered everything.
func (p *process) drain(fetched <-chan error) {
	timeout := drainTime
	if p.lostEngine {
		timeout = 0
	}
	select {
	case err := <-fetched:
		if err != nil {
			p.backend.log.Debug("read a container's output", "container", p.id, "error", err)
		}
	case <-time.After(timeout):
		if !p.lostEngine {
			p.backend.log.Warn("the engine did not close a container's output", "container", p.id)
		}
		p.attached.Close()
		<-fetched
	}
}

// discard kills a container that has no run, and returns when nothing is left of it.
func (p *process) discard() error {
	p.Kill()
	<-p.gone
	return errors.Join(p.err, p.release())
}

// release releases the remaining resources when the container is gone.
func (p *process) release() error {
	p.attached.Close()
	p.cancelRequests()
	if in := p.view.Load(); in != nil {
		in.Close()
	}
	p.watchers.Wait()
	if p.dir == nil {
		return nil
	}
	for conn := range p.accepted { // Bridge was not called
		conn.Close()
	}
	return p.dir.Remove()
}

// cancelRequests cancels the requests that watch the container, and receives the result of the one that waits for its end: the
// client's goroutine would otherwise block forever.
func (p *process) cancelRequests() {
	if p.stopWatching == nil {
		return
	}
	if p.removed.Result != nil {
		removed := p.removed
		go func() {
			select {
			case <-removed.Result:
			case <-removed.Error:
			}
		}()
	}
	p.stopWatching()
}

// noStdin is the placeholder for a standard input that Adopt sets.
type noStdin struct{}

func (noStdin) Read([]byte) (int, error) { return 0, errors.New("no standard input yet") }
