package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// process is one container with its socket, folder and connections to the engine. launch starts it and its supervision; connect
// connects a run's streams, at once or, for a container that waits for a run, later.
type process struct {
	backend  *Backend
	dir      *runDir
	id       string
	secret   string
	created  bool
	keeps    bool      // the engine does not remove the container when it has ended
	watched  bool      // only this process enforces its limits
	began    time.Time // just before the guest was started, or adopted
	listener *net.UnixListener
	attached client.ContainerAttachResult
	oom      client.EventsResult
	removed  client.ContainerWaitResult

	watching     context.Context // that of the requests that watch the container; ended by stopWatching
	stopWatching context.CancelFunc
	watchers     sync.WaitGroup
	usage        usage

	accepted chan net.Conn // the guest's connection; closed without one when none will come
	over     chan struct{} // closed at the first sign that the guest has ended
	setOver  func()        // closes over, once
	gone     chan struct{} // closed when the container is; what supervise wrote is final
	done     chan struct{} // closed when nothing is left of it; exit and err are final

	mu     sync.Mutex
	kill   chan struct{} // closed when the guest is to be ended
	ending bool          // kill is closed
	cause  string        // the limit for which it is killed; empty: none
	hit    []string      // limits that were passed

	// Set for a remote engine; see remoteProcess.
	ready     func() error  // waits until the container may be started
	stopRelay func() bool   // kills the guest through the relay; reports whether the container then ends by itself
	grace     time.Duration // how much longer than killTime the end may take

	killed     bool // the guest was killed before the engine reported its end
	lostEngine bool // the engine will not report the end
	exit       sandbox.Exit
	err        error
}

func newProcess(b *Backend, dir *runDir, secret string) *process {
	over := make(chan struct{})
	return &process{
		backend: b, dir: dir, secret: secret, accepted: make(chan net.Conn, 1), over: over, setOver: sync.OnceFunc(func() { close(over) }),
		gone: make(chan struct{}), done: make(chan struct{}), kill: make(chan struct{}),
	}
}

// begin starts the goroutines that every container has.
func (p *process) begin() {
	if p.listener != nil {
		go p.accept()
	}
	go func() {
		defer close(p.gone)
		defer p.setOver()
		p.supervise()
	}()
}

// connect gives the container its run: streams, limits and workspace. All of its goroutines end before done is closed, except one
// that may wait for the caller's Stdin.
func (p *process) connect(ctx context.Context, spec sandbox.Spec, disk *meter.Disk) {
	stopKill := context.AfterFunc(ctx, p.Kill)
	lim := spec.Limits.WithDefaults()
	if spec.Stdin != nil {
		go func() {
			io.Copy(p.attached.Conn, spec.Stdin) // ends when either side does; a guest need not read its input
			p.attached.CloseWrite()
		}()
	}
	output := meter.NewOutput(lim.Output, func() { p.exceed(sandbox.LimitOutput) })
	stdout, stderr := newSpool(spec.Stdout), newSpool(spec.Stderr)
	heap := meter.NewHeap(output.Writer(stderr))
	fetched := make(chan error, 1)
	go func() {
		_, err := stdcopy.StdCopy(output.Writer(stdout), heap, p.attached.Reader)
		stdout.close()
		stderr.close()
		fetched <- err
	}()
	p.watchDisk(disk)
	p.watchers.Go(func() { p.poll(lim, spec.Workspace == "") })
	go func() {
		defer close(p.done)
		<-p.gone
		stopKill()
		p.listener.Close() // so that Bridge does not wait for the output
		p.drain(fetched)
		if disk.Stop() {
			p.note(sandbox.LimitDisk)
		}
		if disk.HitFileSize() {
			p.note(sandbox.LimitFileSize)
		}
		p.nameLimits(lim, spec.Runtime == sandbox.Node && heap.Ended(p.exit.Code))
		stdout.wait()
		stderr.wait()
		p.err = errors.Join(p.err, p.release())
	}()
}

// watchDisk starts to measure the workspace, including removed open files if the guest's processes are known.
func (p *process) watchDisk(disk *meter.Disk) {
	var guest meter.Guest
	if in := p.usage.kernel(); in != nil {
		guest = meter.Guest{PIDs: in.pids, Pause: in.pauser()}
	}
	disk.Watch(guest, func() { p.exceed(sandbox.LimitDisk) })
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

// lastConnectTime is how long the connection of a guest that has ended may take to be noticed.
const lastConnectTime = 500 * time.Millisecond

// Bridge waits for the guest's connection.
func (p *process) Bridge(ctx context.Context) (net.Conn, error) {
	select {
	case conn, ok := <-p.accepted:
		if ok {
			return conn, nil
		}
		return nil, errors.New("the guest ended before it connected")
	case <-p.gone: // the engine may have died
		select {
		case conn, ok := <-p.accepted:
			if ok {
				return conn, nil
			}
		case <-time.After(lastConnectTime): // a connection made at the last moment may not have been accepted yet
		}
		return nil, errors.New("the guest ended before it connected")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Secret returns the secret that the guest will send.
func (p *process) Secret() string { return p.secret }

// Wait waits until nothing is left.
func (p *process) Wait() (sandbox.Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Kill ends the container.
func (p *process) Kill() { p.end("") }

// exceed ends the container because a limit was passed.
func (p *process) exceed(limit string) { p.end(limit) }

func (p *process) end(limit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limit != "" {
		p.hit = append(p.hit, limit)
	}
	if p.ending {
		return
	}
	p.ending, p.cause = true, limit
	close(p.kill)
}

// isKilled reports whether the container is being killed.
func (p *process) isKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending
}

// note records a limit that was passed without ending the guest for it.
func (p *process) note(limit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hit = append(p.hit, limit)
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
			p.backend.log.Warn("the engine did not end a container's output", "container", p.id)
		}
		p.attached.Close()
		<-fetched
	}
}

// release releases the remaining resources when the container is gone.
func (p *process) release() error {
	p.listener.Close()
	p.attached.Close()
	p.cancelRequests()
	if in := p.usage.kernel(); in != nil {
		in.close()
	}
	p.watchers.Wait()
	for conn := range p.accepted { // Bridge was not called
		conn.Close()
	}
	return p.dir.remove()
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
