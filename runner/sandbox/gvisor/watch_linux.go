package gvisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

const (
	watchInterval = 20 * time.Millisecond
	// startCPU is the processor time of a start, which does not count towards the script's.
	startCPU = 500 * time.Millisecond
	// maxTasks bounds how many threads are measured.
	maxTasks = 4096
)

// measure returns what the guest uses. The group's own memory limit is higher, to leave room for gVisor itself, and stops guests that grow
// faster than they are measured.
func (g *guest) measure() supervise.Usage {
	kernel, gofer := g.processes.find(g.proc.Pid)
	memory := g.memory.used(kernel) + g.kernelExcess(kernel, gofer)
	g.most = max(g.most, memory)
	return supervise.Usage{Memory: memory, CPU: g.spent() - g.before}
}

// kernelExcess returns the memory of gVisor's own processes in excess of ownMemory, in bytes: data in the guest's pipes and sockets, for
// instance. It is 0 if a control group counts it.
func (g *guest) kernelExcess(kernel, gofer int) int64 {
	if g.group.BoundsMemory() || kernel == 0 {
		return 0
	}
	own := proctree.Status(kernel, "RssAnon")
	if gofer != 0 {
		own += proctree.Status(gofer, "RssAnon")
	}
	return max(own-ownMemory, 0)
}

func stat(path string) (*syscall.Stat_t, bool) {
	st := new(syscall.Stat_t)
	return st, syscall.Stat(path, st) == nil
}

// openFiles lists the links in /proc to a process's open files.
func openFiles(pid int) []string {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return links
}

// onDisk returns the space that a file takes, in bytes; st_blocks always counts units of 512 (stat(2)).
func onDisk(st *syscall.Stat_t) int64 { return st.Blocks * 512 }

// spent returns the processor time of the guest, of gVisor's kernel and of runsc together.
func (g *guest) spent() time.Duration {
	if used, ok := g.group.CPU(); ok {
		return used
	}
	return g.tree.Measure().CPU
}

// memoryFile is the file in which gVisor's kernel keeps the memory of its guest: that of its processes and of its folders in memory, with
// each page stored once.
type memoryFile struct{ name string }

// used returns how much of the file is in use, in bytes, or 0 if that is not known yet.
func (m *memoryFile) used(kernel int) int64 {
	if kernel == 0 {
		return 0
	}
	if m.name == "" {
		for _, link := range openFiles(kernel) {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "/memfd:runsc-memory") {
				m.name = link
			}
		}
	}
	if st, ok := stat(m.name); ok {
		return onDisk(st)
	}
	return residentShared(kernel)
}

// residentShared estimates the guest's memory if the kernel's descriptors cannot be read. It returns the larger of two figures: what
// gVisor's kernel has mapped of the file, and what the processes that run the guest's code have mapped of it. Their sum would count common
// pages twice.
func residentShared(kernel int) int64 {
	var guests int64
	todo, _ := proctree.Children(kernel)
	for seen := 0; len(todo) > 0 && seen < maxTasks; seen++ {
		pid := todo[len(todo)-1]
		children, _ := proctree.Children(pid)
		todo = append(todo[:len(todo)-1], children...)
		guests += proctree.Status(pid, "RssShmem")
	}
	return max(proctree.Status(kernel, "RssShmem"), guests)
}
