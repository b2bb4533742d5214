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

// treeWatch measures the processes of a container that is in no control group.
type treeWatch struct {
	mu   sync.Mutex
	tree *proctree.Tree
	seen []int // the processes of the last measurement
}

// dataSlack is how much more private memory one process may have than all may use: what is mapped need not be used.
const dataSlack = 512 << 20

// newTreeWatch returns that of the container whose first process is pid, if it has mounted a folder by the name of mark.
func newTreeWatch(pid int, mark string) (*treeWatch, error) {
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, fmt.Errorf("look for the container of process %d: %w", pid, err)
	}
	if !strings.Contains(string(mounts), "/"+mark+"/") {
		return nil, fmt.Errorf("process %d is not in the container: the engine's processes have other numbers here", pid)
	}
	lim := sandbox.Limits{}.WithDefaults()
	return &treeWatch{tree: &proctree.Tree{Root: pid, Folders: []string{"/tmp"}, MaxTasks: lim.Processes, MaxMemory: lim.Memory}}, nil
}

func (w *treeWatch) look() proctree.Usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.tree.Measure()
	w.seen = r.PIDs
	return r
}

func (w *treeWatch) count() counters {
	r := w.look()
	return counters{cpu: r.CPU, memory: r.Memory, now: r.Memory, tasks: r.Tasks}
}

func (w *treeWatch) pids() []int { return w.look().PIDs }

// bound says from where on nothing needs to be looked at any more, and whether the workspace is the container's own: one
// of the host that is in memory there holds files of others.
func (in *inside) bound(lim sandbox.Limits, ownWorkspace bool) {
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

// manyWatches reports whether the container has more for epoll to look at than one run may have.
func (in *inside) manyWatches() bool {
	if in.tree == nil {
		return proctree.ManyWatches(in.pids())
	}
	in.tree.mu.Lock()
	defer in.tree.mu.Unlock()
	return proctree.ManyWatches(in.tree.seen)
}

// canWatch reports whether this process can look at containers of a rootless engine, which run as its own user.
func canWatch() bool { return proctree.Available() }

// watchedUlimits bound what no control group does. Node reserves far more than it ever uses, for each worker.
func watchedUlimits(lim sandbox.Limits, rt sandbox.Runtime) []*container.Ulimit {
	var all []*container.Ulimit
	if rt != sandbox.Node {
		all = append(all, limit("data", lim.Memory+dataSlack))
	}
	if most, ok := mostProcesses(); ok {
		all = append(all, limit("nproc", min(most, int64(jail.MaxTasks(os.Geteuid(), lim)))))
	}
	return all
}
