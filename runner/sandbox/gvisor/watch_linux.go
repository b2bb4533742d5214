package gvisor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	watchInterval = 20 * time.Millisecond
	// startCPU is processor time that a start takes and that is not the script's.
	startCPU = 500 * time.Millisecond
	// maxProcesses bounds how many processes are looked at to add up their time.
	maxProcesses = 4096
)

// watch looks every watchInterval at what the guest uses, and kills it when that passes a limit. The group's own limit
// of memory is above the guest's, for the sake of gVisor itself, and catches what grows faster than this looks.
func (g *guest) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var memory memoryFile
	for n := 0; ; n++ {
		select {
		case <-g.done:
			return
		case <-tick.C:
		}
		g.kin.find(g.proc.Pid)
		lim := g.limits.Load()
		kernel, files := g.kin.pids()
		if used := memory.used(kernel) + g.beside(kernel, files); used > 0 {
			g.most.Store(max(g.most.Load(), used))
			if used > lim.Memory {
				g.kill(sandbox.LimitMemory)
			}
		}
		if lim.CPU > 0 && g.spent()-time.Duration(g.before.Load()) > lim.CPU {
			g.kill(sandbox.LimitCPU)
		}
		if n%removedEvery == 0 && lim.watched && lim.removed(kernel)+lim.removed(files) > lim.Disk {
			g.overDisk.Store(true)
			g.kill(sandbox.LimitDisk)
		}
	}
}

// beside is what gVisor's own processes hold beyond what they need for themselves, in bytes: bytes that wait in the guest's
// pipes and sockets, for instance. Where there is a group, its limit counts them.
func (g *guest) beside(kernel, files int) int64 {
	if g.group.BoundsMemory() || kernel == 0 {
		return 0
	}
	own := statusOf(kernel, "RssAnon:")
	if files != 0 {
		own += statusOf(files, "RssAnon:")
	}
	return max(own-ownMemory, 0)
}

// removedEvery is after how many looks the guest's open files are looked at.
const removedEvery = 5

// bounds are the limits that the watch holds.
type bounds struct {
	sandbox.Limits
	watched bool // there is a workspace
	device  uint64
}

func newBounds(limits sandbox.Limits, workspace string) *bounds {
	b := &bounds{Limits: limits}
	if st, err := os.Stat(workspace); workspace != "" && err == nil {
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			b.watched, b.device = true, uint64(sys.Dev)
		}
	}
	return b
}

// removed is what files take, on the workspace's disk, that the process holds open for the guest and that have no name
// any more: who looks at the workspace does not see them.
func (b *bounds) removed(pid int) int64 {
	if pid == 0 {
		return 0
	}
	var sum int64
	links, _ := filepath.Glob(procFile(pid, "fd/*"))
	for _, link := range links {
		var st syscall.Stat_t
		if syscall.Stat(link, &st) == nil && st.Nlink == 0 && uint64(st.Dev) == b.device && st.Mode&syscall.S_IFMT == syscall.S_IFREG {
			sum += st.Blocks * 512
		}
	}
	return sum
}

// spent is the processor time of the guest, of gVisor's kernel and of runsc together.
func (g *guest) spent() time.Duration {
	if used, ok := g.group.CPU(); ok {
		return used
	}
	var total time.Duration
	seen := 0
	for todo := []int{g.proc.Pid}; len(todo) > 0 && seen < maxProcesses; seen++ {
		pid := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], children(pid)...)
		total += cpuTime(pid)
	}
	return total
}

// cpuTime is what pid and the children it has waited for have used.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0
	}
	// From the third field on: the second is a name in brackets that may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return 0
	}
	var ticks uint64
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.ParseUint(f, 10, 64)
		ticks += n
	}
	const perSecond = 100 // USER_HZ, the same on every Linux
	return time.Duration(ticks) * time.Second / perSecond
}

// memoryFile finds the file in which gVisor's kernel keeps the memory of its guest: all of its processes' own memory and
// of its folders in memory, each page once.
type memoryFile struct{ name string }

// used is how much of it is in use, in bytes; 0 where that can't be told (yet).
func (m *memoryFile) used(kernel int) int64 {
	if kernel == 0 {
		return 0
	}
	if m.name == "" {
		links, _ := filepath.Glob(procFile(kernel, "fd/*"))
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "/memfd:runsc-memory") {
				m.name = link
				break
			}
		}
	}
	if m.name != "" {
		if st, err := os.Stat(m.name); err == nil {
			return onDisk(st)
		}
	}
	return residentShared(kernel)
}

// residentShared is for a caller who may not look at the kernel's descriptors: what it has mapped of its guest's memory
// and not given back, and what the processes that run the guest's code have mapped. A page that both have mapped would
// count twice, so the larger of the two sums is taken.
func residentShared(kernel int) int64 {
	own := statusOf(kernel, "RssShmem:")
	var guests int64
	seen := 0
	for todo := children(kernel); len(todo) > 0 && seen < maxProcesses; seen++ {
		pid := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], children(pid)...)
		guests += statusOf(pid, "RssShmem:")
	}
	return max(own, guests)
}

// statusOf is one line of a process's status, in bytes; 0 where it can't be told.
func statusOf(pid int, name string) int64 {
	text, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// onDisk is what a file takes, in bytes; st_blocks counts units of 512 whatever the file system's own are (stat(2)).
func onDisk(st os.FileInfo) int64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Blocks * 512
	}
	return 0
}
