//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
)

// Child is one running jail. Its owner must call Wait once.
type Child struct {
	cfg      Config
	proc     *os.Process
	streams  *stdio.Streams
	control  net.Conn
	messages *json.Decoder // from init
	group    *cgroup.Group // nil if it could not be created
	missing  []string
	stopCtx  func() bool

	namespaces bool          // the jail has its own namespaces
	ownCount   bool          // RLIMIT_NPROC counts only this jail's processes
	bound      bool          // Bind was called
	before     time.Duration // processor time used before Bind

	done    chan struct{} // closed when init, and with it the whole jail, is dead; state is set before
	state   *os.ProcessState
	waitErr error

	cause    atomic.Pointer[string] // first cause of the kill: a limit's name, or "" for Kill
	most     atomic.Int64           // most memory that the watchdog has seen
	full     atomic.Bool            // the watchdog has seen the maximum number of tasks
	watching sync.WaitGroup         // the watchdog
	printed  *meter.Output          // output of the run
	disks    []*meter.Disk          // the run's writable mounts
}

// Bridge returns the host's end of the connection that the jail has as descriptor BridgeFD. The caller must close it; if Bridge is never
// called, Wait closes it.
func (c *Child) Bridge() net.Conn {
	conn, _ := c.streams.Bridge()
	return conn
}

// Missing lists isolation that this jail lacks because the machine does not support it.
func (c *Child) Missing() []string { return c.missing }

// PID returns the host's process ID of the jail's first process.
func (c *Child) PID() int { return c.proc.Pid }

// Done returns a channel that is closed when every process in the jail has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Kill kills every process in the jail.
func (c *Child) Kill() { c.kill("") }

func (c *Child) kill(cause string) {
	c.cause.CompareAndSwap(nil, &cause)
	_ = c.proc.Kill() // init is PID 1 of the namespace, so the kernel kills all others with it
}

// Wait returns when the jail has ended, its output is written, and its cgroup is removed.
func (c *Child) Wait() (sandbox.Exit, error) {
	<-c.done
	if c.stopCtx != nil {
		c.stopCtx()
	}
	last := c.lastMessage()
	c.streams.Drain()
	c.watching.Wait() // it holds open files
	exit := sandbox.Exit{MaxMemory: c.most.Load()}
	c.readMeters(&exit)
	used, _ := c.group.Use()
	oom := used.OutOfMemory > 0 || last.OutOfMemory
	if used.OutOfTasks > 0 || c.full.Load() {
		exit.Reach(sandbox.LimitProcesses)
	}
	groupErr := c.group.Close()
	c.closeHostEnds()
	if c.waitErr != nil {
		return exit, errors.Join(fmt.Errorf("wait for the sandbox: %w", c.waitErr), groupErr)
	}
	c.fill(&exit, last, oom)
	return exit, groupErr
}

// lastMessage reads init's message after the program has ended. It is empty if init was killed.
func (c *Child) lastMessage() (m message) {
	_ = c.control.SetReadDeadline(time.Now().Add(time.Second))
	if c.messages.Decode(&m) != nil {
		return message{}
	}
	return m
}

// fill completes exit. oom reports whether the kernel killed a process in the cgroup because memory ran out.
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
		// The program did not send the signal itself. For this limit the kernel counts ticks, which on a busy machine exceed the time used.
		exit.Killed = sandbox.LimitCPU
	case syscall.Signal(last.Signal) == unix.SIGXFSZ:
		exit.Killed = sandbox.LimitFileSize
	}
	if oom {
		exit.Reach(sandbox.LimitMemory)
	}
	if cause != nil && exit.Code == codeFailed {
		exit.Code = codeKilled // the host also closes the bridge when it kills a run, which may have ended the program first
	}
	exit.Reach(exit.Killed)
}

// abandon cleans up after a failed start.
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
	c.closeHostEnds()
}

func (c *Child) closeHostEnds() {
	c.streams.Close()
	if c.control != nil {
		c.control.Close()
	}
}

// prepareMeters records what the writable mounts hold before the run can write there.
func (c *Child) prepareMeters(mounts []Mount) {
	for _, m := range mounts {
		if m.Writable {
			c.disks = append(c.disks, meter.NewDisk(m.Source, c.cfg.Limits))
		}
	}
	c.printed = meter.NewOutput(c.cfg.Limits.Output, func() { c.kill(sandbox.LimitOutput) })
}

// readMeters stops the meters after the jail has ended, and records their results.
func (c *Child) readMeters(exit *sandbox.Exit) {
	for _, d := range c.disks {
		if d.Stop() {
			exit.Reach(sandbox.LimitDisk)
		}
		if d.HitFileSize() {
			exit.Reach(sandbox.LimitFileSize)
		}
	}
	c.disks = nil
	if c.printed != nil && c.printed.Hit() {
		exit.Reach(sandbox.LimitOutput)
	}
}
