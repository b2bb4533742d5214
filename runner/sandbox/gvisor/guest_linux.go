package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

const (
	codeKilled   = 128 + int(unix.SIGKILL)
	codeFileSize = 128 + int(unix.SIGXFSZ)
	// drainTime is how long the rest of the output may take once all processes are gone: the pipes have ended then.
	drainTime = time.Second
)

// guest is one running gVisor with its run's folder. Its owner calls Wait once.
type guest struct {
	dir    *runDir
	log    *slog.Logger
	secret string
	late   bool
	// streams are the host's ends of stdin, stdout, stderr.
	streams [3]*os.File
	bridge  *net.UnixConn
	group   *cgroup.Group // nil where none could be made
	proc    *os.Process   // runsc, the parent of gVisor's kernel and of the process that serves files
	stopCtx func() bool

	limits atomic.Pointer[bounds]
	before atomic.Int64 // processor time that does not count, in nanoseconds
	most   atomic.Int64 // most memory that was seen
	// overDisk: the limit of the workspace was passed, maybe by files without names.
	overDisk atomic.Bool
	cause    atomic.Pointer[string]
	kin      kin

	bridgeTaken atomic.Bool
	output      sync.WaitGroup
	meter       *meter.Output
	disk        *meter.Disk
	complaint   head        // what came on standard error first
	heap        *meter.Heap // nil: it runs no V8

	done  chan struct{} // closed when every process is gone; what follows is set before
	state *os.ProcessState
	oom   bool // the kernel killed for want of memory
	tasks bool // and refused a thread
	err   error
}

// Bridge implements sandbox.Process and sandbox.Idle.
func (g *guest) Bridge(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.bridgeTaken.Swap(true) {
		return nil, errors.New("the guest's bridge was taken before")
	}
	return g.bridge, nil
}

// Secret implements sandbox.Process.
func (g *guest) Secret() string { return g.secret }

// Kill implements sandbox.Process.
func (g *guest) Kill() { g.kill("") }

// kill ends everything. runsc is stopped first, because it would notice the others' end and exit in its own way, and
// killed only when they have had time to end, because they end with it.
func (g *guest) kill(cause string) {
	g.cause.CompareAndSwap(nil, &cause)
	g.kin.find(g.proc.Pid)
	_ = g.proc.Signal(unix.SIGSTOP)
	g.kin.killKernel()
	_ = g.proc.Kill()
	g.kin.kill()
	g.group.Kill()
}

// supervise waits for the end of every process, and looks at what the group has seen before it goes.
func (g *guest) supervise() {
	defer close(g.done)
	state, err := g.proc.Wait()
	g.state = state
	if err != nil {
		g.err = fmt.Errorf("wait for runsc: %w", err)
	}
	g.kin.kill()
	g.group.Kill()
	g.err = errors.Join(g.err, g.kin.wait())
	g.oom, g.tasks = g.group.OutOfMemory(), g.group.OutOfTasks()
	g.err = errors.Join(g.err, g.group.Close())
}

// begin makes the guest that of a run: from now on its limits hold, its streams flow, and ctx ends it.
func (g *guest) begin(ctx context.Context, spec sandbox.Spec) {
	lim := spec.Limits.WithDefaults()
	g.limits.Store(newBounds(lim, spec.Workspace))
	if g.stopCtx != nil {
		g.stopCtx()
	}
	g.stopCtx = context.AfterFunc(ctx, g.Kill)
	g.meter = meter.NewOutput(lim.Output, func() { g.kill(sandbox.LimitOutput) })
	g.disk = meter.WatchDisk(spec.Workspace, lim, func() { g.kill(sandbox.LimitDisk) })
	go func() {
		if spec.Stdin != nil {
			_, _ = io.Copy(g.streams[0], spec.Stdin)
		}
		g.streams[0].Close()
	}()
	stderr := g.meter.Writer(spec.Stderr)
	if spec.Runtime == sandbox.Node {
		g.heap = meter.NewHeap(stderr)
		stderr = g.heap
	}
	for i, w := range []io.Writer{g.meter.Writer(spec.Stdout), io.MultiWriter(&g.complaint, stderr)} {
		g.output.Go(func() { _, _ = io.Copy(w, g.streams[i+1]) })
	}
}

// Wait implements sandbox.Process.
func (g *guest) Wait() (sandbox.Exit, error) {
	<-g.done
	g.stopCtx()
	for _, s := range g.streams[1:] {
		_ = s.SetReadDeadline(time.Now().Add(drainTime))
	}
	g.output.Wait()
	if g.disk.Stop() {
		g.overDisk.Store(true)
	}
	started := g.hasStarted()
	complaint := g.said()
	g.close()
	err := errors.Join(g.err, g.dir.remove())
	exit := sandbox.Exit{Code: g.code(), MaxMemory: g.most.Load()}
	if !started && g.cause.Load() == nil {
		return exit, errors.Join(fmt.Errorf("runsc could not start the guest: %s", complaint), err)
	}
	g.fill(&exit)
	return exit, err
}

// close closes the host's ends.
func (g *guest) close() {
	closeAll(g.streams[:])
	if !g.bridgeTaken.Load() {
		g.bridge.Close()
	}
}

// hasStarted tells whether runsc got so far as to run the guest.
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
func (g *guest) fill(exit *sandbox.Exit) {
	switch cause := g.cause.Load(); {
	case cause != nil && exit.Code == codeKilled:
		exit.Killed = *cause
	case g.meter.Hit():
		exit.Killed = sandbox.LimitOutput // its end was not heard
	case g.oom && exit.Code != 0:
		exit.Killed, exit.Code = sandbox.LimitMemory, codeKilled
	case g.tasks && exit.Code != 0:
		exit.Killed, exit.Code = sandbox.LimitProcesses, codeKilled
	case exit.Code == codeFileSize:
		exit.Killed = sandbox.LimitFileSize
	case g.heap != nil && g.heap.Ended(exit.Code):
		exit.Killed = sandbox.LimitMemory
	}
	hits := []string{exit.Killed}
	for limit, hit := range map[string]bool{
		sandbox.LimitOutput: g.meter.Hit(), sandbox.LimitDisk: g.overDisk.Load(), sandbox.LimitFileSize: g.disk.HitFileSize(),
		sandbox.LimitMemory: g.oom, sandbox.LimitProcesses: g.tasks,
	} {
		if hit {
			hits = append(hits, limit)
		}
	}
	slices.Sort(hits)
	exit.Hit = slices.DeleteFunc(slices.Compact(hits), func(limit string) bool { return limit == "" })
}

// said is what runsc gave as its reason, from its log or else its standard error.
func (g *guest) said() string {
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
