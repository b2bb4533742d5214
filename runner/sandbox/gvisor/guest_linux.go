package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
)

const (
	codeKilled   = 128 + int(unix.SIGKILL)
	codeFileSize = 128 + int(unix.SIGXFSZ)
)

// guest is one running gVisor and its run's folder. Its owner calls Wait once.
type guest struct {
	dir       *runDir
	secret    string
	late      bool // its workspace is mounted when it is adopted
	streams   *stdio.Streams
	group     *cgroup.Group // nil where none could be made
	proc      *os.Process   // runsc, the parent of gVisor's kernel and of the gofer
	processes processes
	stopCtx   func() bool

	limits atomic.Pointer[sandbox.Limits]
	before atomic.Int64 // processor time used before the run, in nanoseconds
	most   atomic.Int64 // peak memory
	cause  atomic.Pointer[string]
	treeMu sync.Mutex
	tree   *proctree.Tree // of runsc

	meter     *meter.Output
	disk      *meter.Disk
	complaint head        // the beginning of standard error
	heap      *meter.Heap // nil: it runs no V8

	done  chan struct{} // closed when every process is gone; what follows is set before
	state *os.ProcessState
	oom   bool // the kernel killed a process because memory ran out
	tasks bool // the kernel refused a thread
	err   error
}

// Bridge implements sandbox.Process and sandbox.Idle.
func (g *guest) Bridge(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, again := g.streams.Bridge()
	if again {
		return nil, errors.New("the guest's bridge was taken before")
	}
	return conn, nil
}

// Secret implements sandbox.Process.
func (g *guest) Secret() string { return g.secret }

// Kill implements sandbox.Process.
func (g *guest) Kill() { g.kill("") }

// kill ends everything. It stops runsc first, which would otherwise notice the others' end and exit with its own code. It kills
// runsc last, because the others end with it.
func (g *guest) kill(cause string) {
	g.cause.CompareAndSwap(nil, &cause)
	g.processes.find(g.proc.Pid)
	_ = g.proc.Signal(unix.SIGSTOP)
	g.processes.killKernel()
	_ = g.proc.Kill()
	g.processes.kill()
	g.group.Kill()
}

// supervise waits until every process has ended, and reads the group's counters before it removes the group.
func (g *guest) supervise() {
	defer close(g.done)
	state, err := g.proc.Wait()
	g.state = state
	if err != nil {
		g.err = fmt.Errorf("wait for runsc: %w", err)
	}
	g.processes.kill()
	g.group.Kill()
	g.err = errors.Join(g.err, g.processes.wait())
	g.oom, g.tasks = g.group.OutOfMemory(), g.group.OutOfTasks()
	g.err = errors.Join(g.err, g.group.Close())
}

// begin gives the guest a run: from now on the run's limits hold, its streams are connected, and ctx ends it.
func (g *guest) begin(ctx context.Context, spec sandbox.Spec) {
	lim := spec.Limits.WithDefaults()
	g.limits.Store(&lim)
	if g.stopCtx != nil {
		g.stopCtx()
	}
	g.stopCtx = context.AfterFunc(ctx, g.Kill)
	g.meter = meter.NewOutput(lim.Output, func() { g.kill(sandbox.LimitOutput) })
	g.disk = meter.NewDisk(spec.Workspace, lim)
	g.disk.Watch(meter.Guest{PIDs: g.fileHolders}, func() { g.kill(sandbox.LimitDisk) })
	stderr := g.meter.Writer(spec.Stderr)
	if spec.Runtime == sandbox.Node {
		g.heap = meter.NewHeap(stderr)
		stderr = g.heap
	}
	g.streams.Copy(spec.Stdin, g.meter.Writer(spec.Stdout), io.MultiWriter(&g.complaint, stderr))
}

// fileHolders lists the processes that hold the guest's files open.
func (g *guest) fileHolders() []int {
	kernel, gofer := g.processes.find(g.proc.Pid)
	return []int{kernel, gofer}
}

// Wait implements sandbox.Process.
func (g *guest) Wait() (sandbox.Exit, error) {
	<-g.done
	g.stopCtx()
	g.streams.Drain()
	overDisk := g.disk.Stop()
	started := g.hasStarted()
	complaint := g.reason()
	g.streams.Close()
	err := errors.Join(g.err, g.dir.remove())
	exit := sandbox.Exit{Code: g.code(), MaxMemory: g.most.Load()}
	if !started && g.cause.Load() == nil {
		return exit, errors.Join(fmt.Errorf("runsc could not start the guest: %s", complaint), err)
	}
	g.fill(&exit, overDisk)
	return exit, err
}

// hasStarted reports whether runsc has started the guest.
func (g *guest) hasStarted() bool {
	_, err := os.Stat(g.dir.pidFile())
	return err == nil
}

// code is the guest's exit code, as runsc passes it on.
func (g *guest) code() int {
	if g.state == nil {
		return codeKilled
	}
	ws, _ := g.state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// fill names the limits that the guest ran into.
func (g *guest) fill(exit *sandbox.Exit, overDisk bool) {
	switch cause := g.cause.Load(); {
	case cause != nil && exit.Code == codeKilled:
		exit.Killed = *cause
	case g.meter.Hit():
		exit.Killed = sandbox.LimitOutput // it ended before it could be killed
	case g.oom && exit.Code != 0:
		exit.Killed, exit.Code = sandbox.LimitMemory, codeKilled
	case g.tasks && exit.Code != 0:
		exit.Killed, exit.Code = sandbox.LimitProcesses, codeKilled
	case exit.Code == codeFileSize:
		exit.Killed = sandbox.LimitFileSize
	case g.heap != nil && g.heap.Ended(exit.Code):
		exit.Killed = sandbox.LimitMemory
	}
	exit.Reach(exit.Killed)
	for limit, hit := range map[string]bool{
		sandbox.LimitOutput: g.meter.Hit(), sandbox.LimitDisk: overDisk, sandbox.LimitFileSize: g.disk.HitFileSize(),
		sandbox.LimitMemory: g.oom, sandbox.LimitProcesses: g.tasks,
	} {
		if hit {
			exit.Reach(limit)
		}
	}
}

// reason returns runsc's error message, from its log or else its standard error.
func (g *guest) reason() string {
	text, _ := os.ReadFile(g.dir.logFile())
	for line := range strings.Lines(string(text)) {
		if _, why, ok := strings.Cut(line, "FATAL ERROR: "); ok {
			return strings.TrimSpace(why)
		}
	}
	return strings.TrimSpace(string(g.complaint.text))
}

// head keeps the beginning of what is written to it.
type head struct{ text []byte }

const headSize = 2000

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), headSize-len(h.text))]...)
	return len(p), nil
}
