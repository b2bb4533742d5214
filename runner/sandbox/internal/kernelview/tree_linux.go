package kernelview

import (
	"fmt"
	"os"
	"strings"
	"sync"

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

// newProcessTree returns the process tree of the container whose first process is pid, if a folder named mark is mounted in it.
func newProcessTree(pid int, mark string) (*processTree, error) {
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, fmt.Errorf("find the container of process %d: %w", pid, err)
	}
	if !strings.Contains(string(mounts), "/"+mark+"/") {
		return nil, fmt.Errorf("process %d is not in the container: the engine uses other process ids than this machine", pid)
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

func (w *processTree) count() Counters {
	r := w.look()
	return Counters{CPU: r.CPU, Memory: r.Memory, Present: r.Memory, Tasks: r.Tasks}
}

func (w *processTree) pids() []int { return w.look().PIDs }

// Bound sets the limits at which a measurement may stop. ownWorkspace reports whether the workspace is a file system in the container's own
// memory, whose files count.
func (in *View) Bound(lim sandbox.Limits, ownWorkspace bool) {
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

// ManyWatches reports whether the container has more epoll watches than one run may have.
func (in *View) ManyWatches() bool {
	if in.tree == nil {
		return proctree.ManyWatches(in.PIDs())
	}
	in.tree.mu.Lock()
	defer in.tree.mu.Unlock()
	return proctree.ManyWatches(in.tree.seen)
}

// CanMeasure reports whether this process can measure containers without control groups, which run as its own user.
func CanMeasure() bool { return proctree.Available() }

// MaxUserProcesses returns how many processes the user of such a container may have, which bounds a fork bomb between two measurements. ok
// is false if nothing bounds it.
func MaxUserProcesses(lim sandbox.Limits) (n int64, ok bool) {
	most, ok := MaxProcesses()
	return min(most, int64(jail.MaxTasks(os.Geteuid(), lim))), ok
}
