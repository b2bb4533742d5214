//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// Child is one running jail. Its owner calls Wait once.
type Child struct {
	cfg     Config
	proc    *os.Process
	streams [3]*os.File // the host's ends of stdin, stdout, stderr
	bridge  net.Conn
	control net.Conn
	hear    *json.Decoder
	group   *cgroup.Group // nil where none could be made
	missing []string
	stopCtx func() bool

	namespaces bool          // it has its own
	ownCount   bool          // RLIMIT_NPROC counts this jail's processes only
	bound      bool          // Bind was called
	before     time.Duration // processor time that was used before Bind

	done    chan struct{} // closed when init, and with it the whole jail, is dead; state is set before
	state   *os.ProcessState
	waitErr error

	bridgeTaken atomic.Bool
	cause       atomic.Pointer[string] // what killed it first: a limit's name, or "" for Kill
	most        atomic.Int64           // most memory the watchdog saw
	full        atomic.Bool            // the watchdog saw as many tasks as there may be
	output      sync.WaitGroup
	watching    sync.WaitGroup // the watchdog
	printed     *meter.Output  // of the run
	disks       []*meter.Disk  // of the run's writable mounts

	restMu  sync.Mutex
	resting chan struct{} // closed when the jail does something again; nil: it does
}

// Bridge returns the host's end of the connection that the jail has as descriptor BridgeFD. Who calls it closes it;
// if nobody does, Wait closes it.
func (c *Child) Bridge() net.Conn {
	c.bridgeTaken.Store(true)
	return c.bridge
}

// Missing lists isolation that this jail lacks because the machine does not give it.
func (c *Child) Missing() []string { return c.missing }

// PID is the number of the jail's first process, as the host sees it.
func (c *Child) PID() int { return c.proc.Pid }

// Done is closed when everything in the jail has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Kill ends everything in the jail at once.
func (c *Child) Kill() { c.kill("") }

func (c *Child) kill(cause string) {
	c.cause.CompareAndSwap(nil, &cause)
	_ = c.proc.Kill() // init is PID 1 of the namespace: the kernel kills all others with it
}

// Wait returns when the jail has ended, its output was written out, and its cgroup is gone.
func (c *Child) Wait() (sandbox.Exit, error) {
	<-c.done
	if c.stopCtx != nil {
		c.stopCtx()
	}
	last := c.lastMessage()
	_ = c.streams[0].Close() // a reader that blocks for ever keeps its goroutine, not ours
	for _, s := range c.streams[1:] {
		// Pipes end when their last writer dies. One that was sent through a socket outlives it; don't wait for that.
		_ = s.SetReadDeadline(time.Now().Add(time.Second))
	}
	c.output.Wait()
	c.watching.Wait() // it has files open
	exit := sandbox.Exit{MaxMemory: c.most.Load()}
	c.readMeters(&exit)
	oom := c.group.OutOfMemory() || last.OutOfMemory
	if c.group.OutOfTasks() || c.full.Load() {
		exit.Hit = append(exit.Hit, sandbox.LimitProcesses)
	}
	groupErr := c.group.Close()
	c.closeHostEnds()
	if c.waitErr != nil {
		return exit, errors.Join(fmt.Errorf("wait for the sandbox: %w", c.waitErr), groupErr)
	}
	c.fill(&exit, last, oom)
	return exit, groupErr
}

// lastMessage reads what init said after it was ready: nothing if it was killed.
func (c *Child) lastMessage() (m message) {
	_ = c.control.SetReadDeadline(time.Now().Add(time.Second))
	if c.hear.Decode(&m) != nil {
		return message{}
	}
	return m
}

// fill completes exit. oom: the kernel has killed in the cgroup for want of memory.
func (c *Child) fill(exit *sandbox.Exit, last message, oom bool) {
	ws, _ := c.state.Sys().(syscall.WaitStatus)
	exit.Code = ws.ExitStatus()
	if ws.Signaled() {
		exit.Code = 128 + int(ws.Signal())
	}
	exit.MaxMemory = max(exit.MaxMemory, last.MaxRSS)
	cause := c.cause.Load()
	switch {
	case cause != nil:
		exit.Killed = *cause
	case oom && exit.Code == codeKilled:
		exit.Killed = sandbox.LimitMemory
	case syscall.Signal(last.Signal) == unix.SIGXCPU && c.cfg.Limits.CPU > 0 && last.CPU > c.cfg.Limits.CPU/2:
		// Not sent by itself. For its limit the kernel counts ticks, which on a busy machine are more than what was used.
		exit.Killed = sandbox.LimitCPU
	case syscall.Signal(last.Signal) == unix.SIGXFSZ:
		exit.Killed = sandbox.LimitFileSize
	}
	if oom {
		exit.Hit = append(exit.Hit, sandbox.LimitMemory)
	}
	if cause != nil && exit.Code == codeFailed {
		exit.Code = codeKilled // who ends a run also closes its bridge, and the program may have ended of that first
	}
	if exit.Killed != "" {
		exit.Hit = append(exit.Hit, exit.Killed)
	}
	slices.Sort(exit.Hit)
	exit.Hit = slices.Compact(exit.Hit)
}

// abandon undoes a start that failed.
func (c *Child) abandon(started bool) {
	if started {
		c.Kill()
		<-c.done
	}
	if c.stopCtx != nil {
		c.stopCtx()
	}
	c.readMeters(&sandbox.Exit{})
	_ = c.group.Close()
	c.bridgeTaken.Store(false)
	c.closeHostEnds()
}

func (c *Child) closeHostEnds() {
	for _, f := range c.streams {
		if f != nil {
			f.Close()
		}
	}
	if c.control != nil {
		c.control.Close()
	}
	if c.bridge != nil && !c.bridgeTaken.Load() {
		c.bridge.Close()
	}
}

// copyStreams connects the jail's standard streams. Pipes of our own, never the caller's files: a script that gets a
// descriptor of a terminal or file could do more with it than read or write.
func (c *Child) copyStreams() {
	go func() {
		if c.cfg.Stdin != nil {
			_, _ = io.Copy(c.streams[0], c.cfg.Stdin)
		}
		c.streams[0].Close()
	}()
	for i, w := range []io.Writer{c.cfg.Stdout, c.cfg.Stderr} {
		from, to := c.streams[i+1], c.printed.Writer(w)
		c.output.Go(func() { copyOutput(to, from) })
	}
}

// copyOutput copies until the end; w never fails. After the read deadline, which Wait sets, it takes what the pipe still
// holds and stops.
func copyOutput(w io.Writer, from *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n, err = readNow(from, buf)
		}
		if n > 0 {
			_, _ = w.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// readNow reads without waiting and without regard to the deadline.
func readNow(from *os.File, buf []byte) (n int, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}
	ctlErr := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buf) })
	if ctlErr != nil {
		return 0, ctlErr
	}
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}
