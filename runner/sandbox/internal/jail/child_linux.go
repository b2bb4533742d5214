//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Child is one running jail. Its owner calls Wait once.
type Child struct {
	cfg     Config
	proc    *os.Process
	streams [3]*os.File // the host's ends of stdin, stdout, stderr
	bridge  net.Conn
	control net.Conn
	hear    *json.Decoder
	group   *group // nil where none could be made
	missing []string
	stopCtx func() bool

	done    chan struct{} // closed when init, and with it the whole jail, is dead; state is set before
	state   *os.ProcessState
	waitErr error

	bridgeTaken atomic.Bool
	cause       atomic.Pointer[string] // what killed it first: a limit's name, or "" for Kill
	most        atomic.Int64           // most memory the watchdog saw
	output      sync.WaitGroup
}

// Bridge returns the host's end of the connection that the jail has as descriptor BridgeFD. Who calls it closes it;
// if nobody does, Wait closes it.
func (c *Child) Bridge() net.Conn {
	c.bridgeTaken.Store(true)
	return c.bridge
}

// Missing lists isolation that this jail lacks because the machine does not give it.
func (c *Child) Missing() []string { return c.missing }

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
	exit := sandbox.Exit{MaxMemory: c.most.Load()}
	groupErr := c.group.close(&exit)
	c.closeHostEnds()
	if c.waitErr != nil {
		return exit, errors.Join(fmt.Errorf("wait for the sandbox: %w", c.waitErr), groupErr)
	}
	c.fill(&exit, last)
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

// fill completes exit, which has Killed set where the cgroup ran out of memory.
func (c *Child) fill(exit *sandbox.Exit, last message) {
	oom := exit.Killed
	exit.Killed = ""
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
	case exit.Code == codeKilled:
		exit.Killed = oom
	case syscall.Signal(last.Signal) == unix.SIGXCPU:
		exit.Killed = "cpu"
	}
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
	_ = c.group.close(&sandbox.Exit{})
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
		if w == nil {
			w = io.Discard
		}
		from := c.streams[i+1]
		c.output.Go(func() { copyOutput(w, from) })
	}
}

// copyOutput copies until the end. A writer that fails loses the rest, and the script goes on. After the read
// deadline, which Wait sets, it takes what the pipe still holds and stops.
func copyOutput(w io.Writer, from *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n, err = readNow(from, buf)
		}
		if n > 0 && w != io.Discard {
			if _, werr := w.Write(buf[:n]); werr != nil {
				w = io.Discard
			}
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
