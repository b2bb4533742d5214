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
	// lookPause is the longest time between two measurements of a guest.
	lookPause = 50 * time.Millisecond
	// leastPause is the shortest time between two measurements, for a guest near its limit.
	leastPause = 5 * time.Millisecond
)

// counters hold what a container has used.
type counters struct {
	cpu    time.Duration // processor time of all processes
	memory int64         // the most bytes at once
	now    int64         // bytes of now, and tasks the threads of now; of a watched container only
	tasks  int
	ooms   int64 // processes that the kernel killed because memory ran out
	forks  int64 // processes that could not be started for the limit of their number
}

// upTo is what was used when later figures are known. None of them can fall.
func (c counters) upTo(later counters) counters {
	return counters{
		cpu: max(c.cpu, later.cpu), memory: max(c.memory, later.memory), ooms: max(c.ooms, later.ooms), forks: max(c.forks, later.forks),
		now: later.now, tasks: later.tasks,
	}
}

// usage holds what is known about a container's use of the machine. The kernel's figures are read while the container
// runs, and once more when its first process has ended: the control group lives on for a moment.
type usage struct {
	mu    sync.Mutex
	in    *inside  // nil until found, or if it cannot be found
	base  counters // used before the run
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

func (u *usage) kernel() *inside {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.in
}

// rebase excludes what was used before the run. The most memory may have been used before.
func (u *usage) rebase(in *inside) {
	u.read(in, false)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.base = u.last
}

// read takes the kernel's figures. What a dying group no longer tells stays as it was, and the figures are final only
// where it told all.
func (u *usage) read(in *inside, final bool) {
	c, whole := in.count()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last, u.final = u.last.upTo(c), u.final || final && whole
}

// find looks for the container in this machine's kernel.
func (p *process) find(ctx context.Context) (*inside, error) {
	var res client.ContainerInspectResult
	err := p.backend.patiently(ctx, "ask for the processes of container "+p.id, func(ctx context.Context) (err error) {
		res, err = p.backend.client.ContainerInspect(ctx, p.id, client.ContainerInspectOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	if res.Container.State == nil {
		return nil, fmt.Errorf("the engine does not tell the state of container %s", p.id)
	}
	mark := ""
	if p.watched {
		mark = filepath.Base(p.dir.path)
	}
	in, err := lookInside(p.id, res.Container.State.Pid, mark)
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
		p.over.close()
	})
	return in, nil
}

// follow enforces the limit of processor time, for which the kernel has none that counts all processes together, those
// that a watched container has no other for, and keeps the figures fresh, until the guest has ended. The workspace may be
// the container's own.
func (p *process) follow(lim sandbox.Limits, ownWorkspace bool) {
	in := p.usage.kernel()
	if in == nil { // it ended before it was found
		return
	}
	pause := lookPause
	if p.watched {
		pause = watchPause
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
			wait = min(pause, max(leastPause, (limit-used.cpu)/time.Duration(runtime.NumCPU())))
		}
		select {
		case <-p.over.c:
			return
		case <-time.After(wait):
		}
	}
}

// once is a channel that can be closed again and again.
type once struct {
	c  chan struct{}
	do sync.Once
}

func newOnce() *once { return &once{c: make(chan struct{})} }

func (o *once) close() { o.do.Do(func() { close(o.c) }) }
