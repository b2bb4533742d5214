package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	signalKill = 128 + 9
	signalCPU  = 128 + 24 // SIGXCPU
	// oomNews is how long the engine's word of a memory kill may come after that of the end.
	oomNews = time.Second
	// killTime is how long a killed container may take to be gone before it is removed by force.
	killTime = 10 * time.Second
	// drainTime is how long the engine may take to deliver the rest of the output of a container that is gone.
	drainTime = 5 * time.Second
)

// process is one container with its socket, folder and connections to the engine. It is owned by the goroutine
// that supervise runs in; the others only wait for channels to close.
type process struct {
	backend      *Backend
	dir          *runDir
	id           string
	secret       string
	created      bool
	listener     *net.UnixListener
	attached     client.ContainerAttachResult
	oom          client.EventsResult
	removed      client.ContainerWaitResult
	stopWatching context.CancelFunc

	killOnce sync.Once
	kill     chan struct{} // closed by Kill
	began    time.Time     // just before the guest was started
	accepted chan net.Conn // the guest's connection; closed without one when none will come
	done     chan struct{} // closed when nothing of it is left; exit and err are final

	exit sandbox.Exit
	err  error
}

// run sets the goroutines going. They all end before done is closed, but for one that may wait for the caller's Stdin.
func (p *process) run(ctx context.Context, spec sandbox.Spec) {
	p.accepted = make(chan net.Conn, 1)
	go p.accept()
	if spec.Stdin != nil {
		go func() {
			io.Copy(p.attached.Conn, spec.Stdin) // ends when either side does; a guest need not read its input
			p.attached.CloseWrite()
		}()
	}
	stdout, stderr := newSpool(spec.Stdout), newSpool(spec.Stderr)
	heap := &heapWatch{next: stderr}
	fetched := make(chan error, 1)
	go func() {
		_, err := stdcopy.StdCopy(stdout, heap, p.attached.Reader)
		stdout.close()
		stderr.close()
		fetched <- err
	}()
	go func() {
		defer close(p.done)
		p.supervise(ctx, spec)
		p.listener.Close() // Bridge need not wait for the output
		stdout.unbound()
		stderr.unbound()
		p.drain(fetched)
		if aborted(p.exit.Code) && heap.full && spec.Runtime == sandbox.Node {
			p.exit.Killed = "memory"
		}
		stdout.wait()
		stderr.wait()
		p.release()
	}()
}

// accept takes one connection and closes the socket: there is nothing left that another process could connect to, or
// prove itself with.
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

// Secret is what the guest will say.
func (p *process) Secret() string { return p.secret }

// Kill ends the container.
func (p *process) Kill() { p.killOnce.Do(func() { close(p.kill) }) }

// Wait waits until nothing is left.
func (p *process) Wait() (sandbox.Exit, error) {
	<-p.done
	return p.exit, p.err
}

// supervise waits for the container's end and removal, and brings them about when it has to.
func (p *process) supervise(ctx context.Context, spec sandbox.Spec) {
	kill, over := p.kill, ctx.Done()
	var overdue <-chan time.Time
	killed := false
	for {
		select {
		case res := <-p.removed.Result:
			p.removed.Result = nil
			p.finish(spec, res, killed)
			return
		case err := <-p.removed.Error:
			p.removed.Result = nil
			p.lost(fmt.Errorf("wait for container %s: %w", p.id, p.backend.asked(err)))
			return
		case <-overdue:
			p.lost(fmt.Errorf("container %s did not end when it was killed", p.id))
			return
		case <-kill:
		case <-over:
		}
		kill, over, killed = nil, nil, true
		overdue = time.After(killTime)
		go p.signal(ctx)
	}
}

// signal kills every process of the container.
func (p *process) signal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(detach(ctx), killTime)
	defer cancel()
	if _, err := p.backend.client.ContainerKill(ctx, p.id, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		p.backend.log.Debug("kill a container", "container", p.id, "error", err) // it may have ended by itself
	}
}

// finish says how the guest ended.
func (p *process) finish(spec sandbox.Spec, res container.WaitResponse, killed bool) {
	p.exit.Code = int(res.StatusCode)
	if killed && p.exit.Code != 0 {
		// It may have noticed that its host had given it up, and ended by itself a moment before the kill.
		p.exit.Code = signalKill
	}
	if res.Error != nil {
		p.backend.log.Warn("the engine had trouble to remove a container", "container", p.id, "error", res.Error.Message)
		p.err = p.backend.removeContainer(context.Background(), p.id)
	}
	if killed {
		return
	}
	switch {
	case p.exit.Code != 0 && p.ranOutOfMemory():
		p.exit.Killed = "memory"
	case p.ranOutOfTime(spec.Limits.CPU):
		p.exit.Killed = "cpu"
	}
}

// ranOutOfTime tells whether the kernel ended the guest for its processor time: with a signal of its own at the soft
// limit, and by a kill at the hard one, a second later, when the guest ignores that. A kill that comes before all
// processors together can have spent so much has another reason.
func (p *process) ranOutOfTime(limit time.Duration) bool {
	if limit <= 0 {
		return false
	}
	spent := time.Since(p.began) * time.Duration(runtime.NumCPU())
	return p.exit.Code == signalCPU || p.exit.Code == signalKill && spent >= limit
}

// ranOutOfMemory tells whether the kernel killed something in the container for want of memory. The engine's word of it
// comes over another way than that of the end: it may come later, and on a busy machine never, when the control group is
// gone before the engine has looked. So a guest that was killed by whomever is worth a look at the kernel's log, and a
// moment.
func (p *process) ranOutOfMemory() bool {
	select {
	case <-p.oom.Messages:
		return true
	default:
	}
	if p.exit.Code != signalKill {
		return false
	}
	if oomLogged(p.id) {
		return true
	}
	select {
	case <-p.oom.Messages:
		return true
	case <-time.After(oomNews):
		return false
	}
}

// lost is for a container whose end the engine does not tell: it is removed, and the run is a failure of the backend.
func (p *process) lost(err error) {
	p.exit.Code = signalKill
	p.err = errors.Join(err, p.backend.removeContainer(context.Background(), p.id))
}

// drain waits for the last of the output. The engine ends the stream when it has delivered everything.
func (p *process) drain(fetched <-chan error) {
	select {
	case err := <-fetched:
		if err != nil {
			p.backend.log.Debug("read a container's output", "container", p.id, "error", err)
		}
	case <-time.After(drainTime):
		p.backend.log.Warn("the engine did not end a container's output", "container", p.id)
		p.attached.Close()
		<-fetched
	}
}

// forget ends the requests that watch the container. The client's goroutine that waits for the end would wait for
// ever with an answer that nobody takes.
func (p *process) forget() {
	if p.stopWatching == nil {
		return
	}
	if p.removed.Result != nil {
		go func() {
			select {
			case <-p.removed.Result:
			case <-p.removed.Error:
			}
		}()
	}
	p.stopWatching()
}

// release gives back what is left when the container is gone.
func (p *process) release() {
	p.attached.Close()
	p.forget()
	for conn := range p.accepted { // nobody asked for it
		conn.Close()
	}
	if err := p.dir.remove(); err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("remove the run's folder: %w", err))
	}
}
