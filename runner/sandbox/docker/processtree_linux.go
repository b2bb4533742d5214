package docker

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// processTree measures the processes of a container that is in no control group.
type processTree struct {
	mu   sync.Mutex
	tree *proctree.Tree
	seen []int // the processes of the last measurement
}

// dataSlack is how much more private memory one process may map than the run may use.
const dataSlack = 512 << 20

// newProcessTree returns the process tree of the container whose first process is pid, if a folder named mark is mounted there.
func newProcessTree(pid int, mark string) (*processTree, error) {
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, fmt.Errorf("look for the container of process %d: %w", pid, err)
	}
	if !strings.Contains(string(mounts), "/"+mark+"/") {
		return nil, fmt.Errorf("process %d is not in the container: the engine's processes have other numbers here", pid)
	}
	lim := sandbox.Limits{}.WithDefaults()
	return &processTree{tree: &proctree.Tree{Root: pid, Folders: []string{"/tmp"}, MaxTasks: lim.Processes, MaxMemory: lim.Memory}}, nil
}

func (w *processTree) look() proctree.Usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.tree.Measure()
	w.seen = r.PIDs
	return r
}

func (w *processTree) count() counters {
	r := w.look()
	return counters{cpu: r.CPU, memory: r.Memory, now: r.Memory, tasks: r.Tasks}
}

func (w *processTree) pids() []int { return w.look().PIDs }

// bound sets the limits at which a measurement may stop. ownWorkspace reports whether the workspace is the container's own file
// system in memory, whose files count.
func (in *kernelView) bound(lim sandbox.Limits, ownWorkspace bool) {
	if in.tree == nil {
		return
	}
	in.tree.mu.Lock()
	defer in.tree.mu.Unlock()
	in.tree.tree.MaxTasks, in.tree.tree.MaxMemory = lim.Processes, lim.Memory
	if ownWorkspace {
		in.tree.tree.Folders = append(in.tree.tree.Folders, sandbox.WorkspaceDir)
	}
}

// manyWatches reports whether the container has more epoll watches than one run may have.
func (in *kernelView) manyWatches() bool {
	if in.tree == nil {
		return proctree.ManyWatches(in.pids())
	}
	in.tree.mu.Lock()
	defer in.tree.mu.Unlock()
	return proctree.ManyWatches(in.tree.seen)
}

// canWatch reports whether this process can measure containers of a rootless engine, which run as its own user.
func canWatch() bool { return proctree.Available() }

// watchedUlimits returns bounds in place of a control group's. Node reserves far more memory than it uses, for each worker.
func watchedUlimits(lim sandbox.Limits, rt sandbox.Runtime) []*container.Ulimit {
	var all []*container.Ulimit
	if rt != sandbox.Node {
		all = append(all, limit("data", lim.Memory+dataSlack))
	}
	if most, ok := maxProcesses(); ok {
		all = append(all, limit("nproc", min(most, int64(jail.MaxTasks(os.Geteuid(), lim)))))
	}
	return all
}
