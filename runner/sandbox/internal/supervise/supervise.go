// Package supervise bounds one run in a guest, for sandboxes whose guests are not children of this process: containers, and gVisor's. It
// measures what the guest prints, stores and uses, ends the guest when it exceeds a limit, and finally names the limits that were reached.
// A backend supplies the rest: how to kill the guest, and what it uses.
//
// Start with [New]. Call [Guest.Begin] and then [Guest.Watch] when the guest gets its run, [Guest.Ended] when it has ended, and
// [Guest.Finish] when its output was read.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// Exit codes of a guest ended by a signal.
const (
	CodeKilled   = 128 + 9
	CodeCPU      = 128 + 24 // SIGXCPU
	CodeFileSize = 128 + 25 // SIGXFSZ
)

// Guest is one guest. Its methods may be called concurrently.
type Guest struct {
	kill func()

	mu     sync.Mutex
	killed bool     // kill was called before the guest ended
	ended  bool     // the guest can no longer be ended
	cause  string   // the limit for which it was killed; empty if there was none
	hit    []string // limits that were reached

	// Set by Begin.
	stopKill func() bool
	node     bool
	limits   sandbox.Limits
	output   *meter.Output
	heap     *meter.Heap
	disk     *meter.Disk
}

// New returns a guest that is ended by calling kill. kill is called at most once.
func New(kill func()) *Guest { return &Guest{kill: kill} }

// Kill ends the guest at its owner's request.
func (g *Guest) Kill() { g.end("") }

// Exceed ends the guest because it has exceeded a limit.
func (g *Guest) Exceed(limit string) { g.end(limit) }

func (g *Guest) end(limit string) {
	if !g.mark(limit) {
		return
	}
	g.kill()
}

// mark records why the guest is to be killed, and reports whether it must still be killed.
func (g *Guest) mark(limit string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if limit != "" {
		g.hit = append(g.hit, limit)
	}
	if g.killed || g.ended {
		return false
	}
	g.killed, g.cause = true, limit
	return true
}

// Note records a limit that the guest has reached without being killed for it.
func (g *Guest) Note(limit string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hit = append(g.hit, limit)
}

// Killed reports whether the guest was killed before it ended by itself.
func (g *Guest) Killed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.killed
}

// Ended records that the guest has ended. After that it is not killed, and nothing else can be recorded as the cause of its end.
func (g *Guest) Ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// Begin gives the guest a run, before it has its job. From now on the guest is killed when ctx ends, and the workspace is measured. openers
// lists the processes that may hold files open there; it may be nil. Begin returns the writers for the guest's output.
func (g *Guest) Begin(ctx context.Context, spec sandbox.Spec, openers func() []int) (stdout, stderr io.Writer) {
	g.limits, g.node = spec.Limits.WithDefaults(), spec.Runtime == sandbox.Node
	g.stopKill = context.AfterFunc(ctx, g.Kill)
	g.output = meter.NewOutput(g.limits.Output, func() { g.Exceed(sandbox.LimitOutput) })
	g.disk = meter.NewDisk(spec.Workspace, g.limits)
	g.disk.Watch(openers, func() { g.Exceed(sandbox.LimitDisk) })
	g.heap = meter.NewHeap(g.output.Writer(spec.Stderr))
	return g.output.Writer(spec.Stdout), g.heap
}

// Usage is what a guest uses. The limits of memory and processes apply to the present figures, which are zero if the kernel enforces these
// limits.
type Usage struct {
	CPU    time.Duration // of all processes, since the run began
	Memory int64         // bytes
	Tasks  int           // processes and threads
	Passed string        // another exceeded limit, or empty
}

// passed names the limit that u exceeds, the most urgent first: a fork bomb.
func (u Usage) passed(lim sandbox.Limits) string {
	switch {
	case u.Tasks > lim.Processes:
		return sandbox.LimitProcesses
	case u.Memory > lim.Memory:
		return sandbox.LimitMemory
	case lim.CPU > 0 && u.CPU >= lim.CPU:
		return sandbox.LimitCPU
	}
	return u.Passed
}

// minPause is the shortest time between two measurements. It applies to a guest near its limit of processor time.
const minPause = 5 * time.Millisecond

// Watch measures the guest at least every interval until over is closed, and ends it when it exceeds a limit.
func (g *Guest) Watch(over <-chan struct{}, interval time.Duration, measure func() Usage) {
	for {
		used := measure()
		if limit := used.passed(g.limits); limit != "" {
			g.Exceed(limit)
			return
		}
		wait := interval
		if left := g.limits.CPU - used.CPU; g.limits.CPU > 0 {
			wait = min(interval, max(minPause, left/time.Duration(runtime.NumCPU())))
		}
		select {
		case <-over:
			return
		case <-time.After(wait):
		}
	}
}

// Finish completes exit, whose Code is the guest's own, when the guest has ended and all its output was written. failed names the limit
// that, as the backend knows, ended the guest, and hit other limits that it reached; empty names are ignored.
func (g *Guest) Finish(exit *sandbox.Exit, failed string, hit ...string) {
	g.stopKill()
	if g.disk.Stop() {
		hit = append(hit, sandbox.LimitDisk)
	}
	if g.disk.HitFileSize() {
		hit = append(hit, sandbox.LimitFileSize)
	}
	if g.output.Hit() {
		hit = append(hit, sandbox.LimitOutput)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.killed:
		exit.Killed = g.cause
		if exit.Code != 0 { // it may have ended by itself just before, because its connection was closed
			exit.Code = CodeKilled
		}
	case g.output.Hit(): // it ended before it could be killed
		exit.Killed = sandbox.LimitOutput
	case exit.Code == 0:
	case g.node && g.heap.Ended(exit.Code):
		exit.Killed = sandbox.LimitMemory
	case failed != "":
		exit.Killed = failed
	case exit.Code == CodeFileSize:
		exit.Killed = sandbox.LimitFileSize
	}
	exit.Reach(append(append(hit, g.hit...), exit.Killed)...)
}

// CheckAdopt returns an error if an idle guest cannot be given a run. done is closed when the guest has ended, got is its shape, and want
// is the shape of the run.
func CheckAdopt(ctx context.Context, done <-chan struct{}, got, want sandbox.Shape) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-done:
		return errors.New("the guest has ended")
	default:
	}
	if got != want {
		return fmt.Errorf("it was prepared for %+v, want %+v", got, want)
	}
	return nil
}
