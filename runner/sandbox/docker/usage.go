package docker

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/kernelview"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// pollInterval is the longest time between two measurements of a guest.
const pollInterval = 50 * time.Millisecond

// used returns the run's usage so far, and whether it was measured after the end of the run.
func (p *process) used() (c kernelview.Counters, final bool) {
	if in := p.view.Load(); in != nil {
		return in.Last()
	}
	if p.reported != nil {
		return *p.reported, p.reported.Memory > 0 // zero means that the container cannot see its own usage
	}
	return kernelview.Counters{}, false
}

// find looks up the container in this machine's kernel.
func (p *process) find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, err := p.backend.client.ContainerInspect(ctx, p.id, client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("inspect container %s: %w", p.id, p.backend.engineError(err))
	}
	if res.Container.State == nil {
		return fmt.Errorf("the engine does not report the state of container %s", p.id)
	}
	mark := ""
	if p.watched {
		mark = filepath.Base(p.dir.Path)
	}
	in, err := kernelview.Open(p.id, res.Container.State.Pid, mark)
	if err != nil {
		return fmt.Errorf("look into container %s: %w", p.id, err)
	}
	p.viewEnded = make(chan struct{})
	p.view.Store(in)
	p.watchers.Go(func() {
		defer close(p.viewEnded)
		in.Wait()
		p.setOver()
	})
	return nil
}

// watch enforces the limit of processor time until the guest has ended, since the kernel has no such limit for all processes
// together. In a container without a control group it enforces every limit.
func (p *process) watch(spec sandbox.Spec) {
	in := p.view.Load()
	if in == nil { // the guest ended before its processes were found
		return
	}
	interval := pollInterval
	if p.watched {
		interval = watchedPollInterval
		in.Bound(spec.Limits.WithDefaults(), spec.Workspace == "")
	}
	p.Watch(p.over, interval, func() supervise.Usage {
		used := in.Measure()
		u := supervise.Usage{CPU: used.CPU, Memory: used.Present, Tasks: used.Tasks}
		if in.ManyWatches() {
			u.Passed = sandbox.LimitFiles
		}
		return u
	})
}

const (
	// lastReadTime is how long reading a container's figures after its end may take.
	lastReadTime = 200 * time.Millisecond
	// oomDelay is how much later than the end the engine may report an out-of-memory kill.
	oomDelay = time.Second
)

// nameLimits decides which limits the guest reached. passed is the limit that ended it, or empty.
func (p *process) nameLimits(lim sandbox.Limits, passed string) {
	if p.viewEnded != nil {
		select {
		case <-p.viewEnded:
		case <-time.After(lastReadTime):
		}
	}
	used, final := p.used()
	p.exit.MaxMemory = used.Memory
	switch {
	case passed != "":
	case p.ranOutOfMemory(used, final):
		passed = sandbox.LimitMemory
	case p.ranOutOfTime(lim.CPU, used, final):
		passed = sandbox.LimitCPU
	}
	var hit []string
	if used.OutOfMemory > 0 {
		hit = append(hit, sandbox.LimitMemory)
	}
	if used.OutOfTasks > 0 {
		hit = append(hit, sandbox.LimitProcesses)
	}
	p.Finish(&p.exit, passed, hit...)
}

// ranOutOfMemory reports whether the kernel killed a process in the container because memory ran out. The control group's count
// is final if it was read after the end. Otherwise only the engine's event tells, which may arrive after the end.
func (p *process) ranOutOfMemory(used kernelview.Counters, final bool) bool {
	if used.OutOfMemory > 0 || final || p.watched || p.exit.Code != supervise.CodeKilled || p.Killed() {
		return used.OutOfMemory > 0
	}
	select {
	case <-p.oom.Messages:
		return true
	case <-time.After(oomDelay):
		return false
	}
}

// ranOutOfTime reports whether the kernel ended the guest for its processor time: with SIGXCPU at the soft limit of one process
// or, if the guest ignores that, with SIGKILL at the hard limit a second later. The measured time shows whether the guest
// merely sent itself such a signal.
func (p *process) ranOutOfTime(limit time.Duration, used kernelview.Counters, final bool) bool {
	switch {
	case limit <= 0:
		return false
	case p.exit.Code == supervise.CodeCPU:
		// The kernel counts the time for this signal in ticks, and counts too much on a busy machine. Without the final usage,
		// the signal has to suffice as evidence.
		return used.CPU >= limit/2 || !final
	}
	return p.exit.Code == supervise.CodeKilled && used.CPU >= limit-limit/10
}
