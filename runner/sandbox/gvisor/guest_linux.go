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
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// guest is one running gVisor with its run's folder. Its owner must call Wait once.
type guest struct {
	*supervise.Guest
	dir       *runDir
	secret    string
	late      bool // its workspace is mounted when it is adopted
	streams   *stdio.Streams
	group     *cgroup.Group // nil if none could be created
	proc      *os.Process   // runsc, the parent of gVisor's kernel and of the gofer
	processes processes
	stopKill  func() bool    // used until begin
	tree      *proctree.Tree // the tree below runsc; begin measures it first, then watch
	memory    memoryFile
	before    time.Duration // processor time used before the run
	most      int64         // peak memory; read it after watching has ended
	complaint head          // the beginning of standard error
	watching  sync.WaitGroup

	done  chan struct{} // closed when every process is gone; the following fields are set before
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
		return nil, errors.New("the guest's bridge is already in use")
	}
	return conn, nil
}

// Secret implements sandbox.Process.
func (g *guest) Secret() string { return g.secret }

// kill ends everything. It first stops runsc, which would otherwise notice the end of the other processes and exit with a code of its own.
// It kills runsc last, because the others end with it.
func (g *guest) kill() {
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
	g.Ended()
	g.state = state
	if err != nil {
		g.err = fmt.Errorf("wait for runsc: %w", err)
	}
	g.processes.kill()
	g.group.Kill()
	g.err = errors.Join(g.err, g.processes.wait())
	used, _ := g.group.Use()
	g.oom, g.tasks = used.OutOfMemory > 0, used.OutOfTasks > 0
	g.err = errors.Join(g.err, g.group.Close())
}

// begin gives the guest a run. From now on the run's limits apply, its streams are connected, and the guest is killed when ctx ends.
func (g *guest) begin(ctx context.Context, spec sandbox.Spec) {
	g.stopKill()
	stdout, stderr := g.Begin(ctx, spec, g.fileHolders)
	g.streams.Copy(spec.Stdin, stdout, io.MultiWriter(&g.complaint, stderr))
	g.watching.Go(func() { g.Watch(g.done, watchInterval, g.measure) })
}

// fileHolders lists the processes that hold the guest's files open.
func (g *guest) fileHolders() []int {
	kernel, gofer := g.processes.find(g.proc.Pid)
	return []int{kernel, gofer}
}

// Wait implements sandbox.Process.
func (g *guest) Wait() (sandbox.Exit, error) {
	<-g.done
	g.watching.Wait()
	g.streams.Drain()
	exit := sandbox.Exit{Code: g.code(), MaxMemory: g.most}
	var failed string
	var hit []string
	if g.tasks {
		failed, hit = sandbox.LimitProcesses, append(hit, sandbox.LimitProcesses)
	}
	if g.oom {
		failed, hit = sandbox.LimitMemory, append(hit, sandbox.LimitMemory)
	}
	if failed != "" && exit.Code != 0 {
		exit.Code = supervise.CodeKilled
	}
	g.Finish(&exit, failed, hit...)
	err := g.err
	if !g.hasStarted() && !g.Killed() {
		err = errors.Join(fmt.Errorf("runsc could not start the guest: %s", g.reason()), err)
	}
	g.streams.Close()
	return exit, errors.Join(err, g.dir.Remove())
}

// hasStarted reports whether runsc has started the guest.
func (g *guest) hasStarted() bool {
	_, err := os.Stat(g.dir.File(pidFile))
	return err == nil
}

// code returns the guest's exit code, as reported by runsc.
func (g *guest) code() int {
	if g.state == nil {
		return supervise.CodeKilled
	}
	ws, _ := g.state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// reason returns runsc's error message, from its log or else its standard error.
func (g *guest) reason() string {
	text, _ := os.ReadFile(g.dir.File(logFile))
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
