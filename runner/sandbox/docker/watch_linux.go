package docker

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// eyes look at a container's processes where no control group counts them.
type eyes struct {
	mu      sync.Mutex
	gauge   *jail.Gauge
	folders []string // of the container that are in memory and no other's
	tasks   int      // more are not counted
	memory  int64    // more is counted more closely
	seen    []int    // the processes of the last look
}

// dataSlack is how much more private memory one process may have than all may use: what is mapped need not be used.
const dataSlack = 512 << 20

// newEyes returns those for the container whose first process is pid, if it has mounted a folder by the name of mark.
func newEyes(pid int, mark string) (*eyes, error) {
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, fmt.Errorf("look for the container of process %d: %w", pid, err)
	}
	if !strings.Contains(string(mounts), "/"+mark+"/") {
		return nil, fmt.Errorf("process %d is not in the container: the engine's processes have other numbers here", pid)
	}
	gauge, err := jail.NewGauge(pid)
	if err != nil {
		return nil, err
	}
	lim := sandbox.Limits{}.WithDefaults()
	return &eyes{gauge: gauge, folders: []string{"/tmp"}, tasks: lim.Processes, memory: lim.Memory}, nil
}

func (e *eyes) look() jail.Reading {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.gauge.Look(e.tasks, e.memory, e.folders...)
	e.seen = r.PIDs
	return r
}

func (e *eyes) count() counters {
	r := e.look()
	return counters{cpu: r.CPU, memory: r.Memory, now: r.Memory, tasks: r.Tasks}
}

func (e *eyes) pids() []int { return e.look().PIDs }

// bound says from where on nothing needs to be looked at any more, and whether the workspace is the container's own: one
// of the host that is in memory there holds files of others.
func (in *inside) bound(lim sandbox.Limits, ownWorkspace bool) {
	if in.eyes == nil {
		return
	}
	in.eyes.mu.Lock()
	defer in.eyes.mu.Unlock()
	in.eyes.tasks, in.eyes.memory = lim.Processes, lim.Memory
	if ownWorkspace {
		in.eyes.folders = append(in.eyes.folders, sandbox.WorkspaceDir)
	}
}

// manyWatches tells whether the container has more for epoll to look at than one run may have.
func (in *inside) manyWatches() bool {
	if in.eyes == nil {
		return jail.ManyWatches(in.pids(), false)
	}
	in.eyes.mu.Lock()
	defer in.eyes.mu.Unlock()
	return jail.ManyWatches(in.eyes.seen, true)
}

// canWatch tells whether this process can look at containers of a rootless engine: they are its own user's.
func canWatch() bool {
	_, err := jail.NewGauge(os.Getpid())
	return err == nil
}

// watchedUlimits bound what no control group does. Node reserves far more than it ever uses, for each worker anew.
func watchedUlimits(lim sandbox.Limits, rt sandbox.Runtime) []*container.Ulimit {
	var all []*container.Ulimit
	if rt != sandbox.Node {
		all = append(all, limit("data", lim.Memory+dataSlack))
	}
	if most, ok := mostProcesses(); ok {
		all = append(all, limit("nproc", min(most, int64(jail.MostTasks(os.Geteuid(), lim)))))
	}
	return all
}
