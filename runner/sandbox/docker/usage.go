package docker

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// pollInterval is the longest time between two measurements of a guest.
	pollInterval = 50 * time.Millisecond
	// minPollInterval is the shortest time between two measurements, for a guest near its limit.
	minPollInterval = 5 * time.Millisecond
)

// counters hold what a container has used.
type counters struct {
	cpu    time.Duration // processor time of all processes
	memory int64         // the most bytes at once
	now    int64         // present bytes; now and tasks (present threads) are known for watched containers only
	tasks  int
	ooms   int64 // processes that the kernel killed because memory ran out
	forks  int64 // processes that could not be started for the limit of their number
}

// merge returns the larger of each pair of figures: none of them can fall.
func (c counters) merge(later counters) counters {
	return counters{
		cpu: max(c.cpu, later.cpu), memory: max(c.memory, later.memory), ooms: max(c.ooms, later.ooms), forks: max(c.forks, later.forks),
		now: later.now, tasks: later.tasks,
	}
}

// usage holds what is known about a container's use of the machine. The kernel's figures are read while the container
// runs, and once more when its first process has ended: the control group lives on for a moment.
type usage struct {
	mu    sync.Mutex
	in    *kernelView // nil until found, or if it cannot be found
	base  counters    // used before the run
	last  counters
	final bool          // last is from after the end
	ended chan struct{} // closed when in has ended; nil without in
}

// get returns the figures of the run so far.
func (u *usage) get() (c counters, final bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c = u.last
	c.cpu -= u.base.cpu
	c.ooms -= u.base.ooms
	c.forks -= u.base.forks
	return c, u.final
}

func (u *usage) kernel() *kernelView {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.in
}

// rebase excludes what was used before the run. The most memory may have been used before.
func (u *usage) rebase(in *kernelView) {
	u.read(in, false)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.base = u.last
}

// read updates the figures from the kernel. Figures that a group no longer has while it is removed stay as they were; they are
// final only if all were read.
func (u *usage) read(in *kernelView, final bool) {
	c, complete := in.count()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last, u.final = u.last.merge(c), u.final || final && complete
}

// find looks for the container in this machine's kernel.
func (p *process) find(ctx context.Context) (*kernelView, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, err := p.backend.client.ContainerInspect(ctx, p.id, client.ContainerInspectOptions{})
	if err != nil {
		return nil, fmt.Errorf("inspect container %s: %w", p.id, p.backend.engineError(err))
	}
	if res.Container.State == nil {
		return nil, fmt.Errorf("the engine does not tell the state of container %s", p.id)
	}
	mark := ""
	if p.watched {
		mark = filepath.Base(p.dir.path)
	}
	in, err := openKernelView(p.id, res.Container.State.Pid, mark)
	if err != nil {
		return nil, fmt.Errorf("look into container %s: %w", p.id, err)
	}
	u := &p.usage
	u.mu.Lock()
	u.in, u.ended = in, make(chan struct{})
	u.mu.Unlock()
	p.watchers.Go(func() {
		defer close(u.ended)
		in.wait()
		u.read(in, true)
		p.setOver()
	})
	return in, nil
}

// poll reads the figures until the guest has ended. It enforces the limit of processor time, since the kernel has none for all
// processes together, and every limit of a watched container. The workspace may be the container's own.
func (p *process) poll(lim sandbox.Limits, ownWorkspace bool) {
	in := p.usage.kernel()
	if in == nil { // the guest ended before its processes were found
		return
	}
	pause := pollInterval
	if p.watched {
		pause = watchedPollInterval
		in.bound(lim, ownWorkspace)
	}
	limit := lim.CPU
	for {
		p.usage.read(in, false)
		wait := pause
		used, _ := p.usage.get()
		if passed := watch(used, lim); p.watched && passed != "" {
			p.exceed(passed)
			return
		}
		if in.manyWatches() {
			p.exceed(sandbox.LimitFiles)
			return
		}
		if limit > 0 {
			if used.cpu >= limit {
				p.exceed(sandbox.LimitCPU)
				return
			}
			wait = min(pause, max(minPollInterval, (limit-used.cpu)/time.Duration(runtime.NumCPU())))
		}
		select {
		case <-p.over:
			return
		case <-time.After(wait):
		}
	}
}
