package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what the processes of a tree use together.
type Usage struct {
	Memory int64         // present bytes; pages of programs and libraries can be dropped and do not count
	CPU    time.Duration // of the present processes, and of ended ones that their parents have waited for
	Tasks  int           // present threads
	PIDs   []int
}

// Available reports whether this kernel lists the children of a process (CONFIG_PROC_CHILDREN).
func Available() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
}

// Tree is a process and all its descendants. If the process is the first of a process namespace, every orphan becomes its child, so that no
// process is outside.
type Tree struct {
	Root int
	Skip int // a process whose memory does not count, or 0
	// MaxTasks ends a measurement, because a fork bomb grows while it is counted.
	MaxTasks int
	// MaxMemory, in bytes, is the sum above which pages shared by several processes are counted only once, which is too slow to do every
	// time.
	MaxMemory int64
	// Folders are the sandbox's folders that are file systems in memory, whose files count.
	Folders []string
}

// Measure walks the tree.
func (t *Tree) Measure() Usage {
	var u Usage
	for todo := []int{t.Root}; len(todo) > 0 && u.Tasks <= t.MaxTasks; {
		pid := todo[len(todo)-1]
		children, tasks := Children(pid)
		todo = append(todo[:len(todo)-1], children...)
		u.Tasks += tasks
		u.PIDs = append(u.PIDs, pid)
		if f := Stat(pid); len(f) >= statEnd {
			u.CPU += ticks(f[statUsed:statEnd])
		}
		if pid != t.Skip {
			u.Memory += Status(pid, "RssAnon", "RssShmem", "VmPTE", "VmSwap")
		}
	}
	files := tmpfs(t.Root, t.Folders)
	if u.Memory += files; u.Memory > t.MaxMemory {
		u.Memory = t.shared(u, files)
	}
	return u
}

// shared returns u's memory with shared pages, as after a fork, counted once, or u's own figure if the kernel does not report it. Shared
// pages may belong to the files in memory.
func (t *Tree) shared(u Usage, files int64) int64 {
	var private, shared int64
	for _, pid := range u.PIDs {
		if pid == t.Skip {
			continue
		}
		text, err := os.ReadFile(filepath.Join(Living(pid), "smaps_rollup"))
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH):
			continue // it has just ended
		case err != nil:
			return u.Memory
		}
		private += kilobytes(text, "Pss_Anon", "SwapPss") + Status(pid, "VmPTE")
		shared += kilobytes(text, "Pss_Shmem")
	}
	return private + max(shared, files)
}

// Children lists the child processes of pid's threads, and returns the number of threads.
func Children(pid int) (children []int, tasks int) {
	names, err := os.ReadDir(procFile(pid, "task"))
	if err != nil {
		return nil, 0
	}
	for _, name := range names {
		text, _ := os.ReadFile(procFile(pid, "task/"+name.Name()+"/children"))
		for f := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				children = append(children, child)
			}
		}
	}
	return children, len(names)
}

// Fields statUsed to statEnd-1 of Stat hold the processor time that the process, and then the children it has waited for, used in user mode
// and in system mode (proc(5)).
const statUsed, statEnd = 11, 15

// Stat returns the fields of /proc/<pid>/stat from the third one, which is the state. The second is a name in brackets that may contain
// anything.
func Stat(pid int) []string { return statFields(procFile(pid, "stat")) }

func statFields(file string) []string {
	text, _ := os.ReadFile(file)
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// ticks adds up fields that count processor time.
func ticks(fields []string) time.Duration {
	var n uint64
	for _, f := range fields {
		ticks, _ := strconv.ParseUint(f, 10, 64)
		n += ticks
	}
	const perSecond = 100 // USER_HZ, the same on every Linux
	return time.Duration(n) * time.Second / perSecond
}

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// Living returns the folder in /proc that describes a process's memory and files. After its first thread has ended, only the folders of its
// other threads do.
func Living(pid int) string {
	dir := procFile(pid, "")
	if lives(dir) {
		return dir
	}
	tasks, _ := os.ReadDir(filepath.Join(dir, "task"))
	for _, t := range tasks {
		if task := filepath.Join(dir, "task", t.Name()); lives(task) {
			return task
		}
	}
	return dir
}

func lives(dir string) bool {
	f := statFields(filepath.Join(dir, "stat"))
	return len(f) > 0 && f[0] != "Z" && f[0] != "X"
}

// Status adds up values from a process's status file, in bytes.
func Status(pid int, names ...string) int64 {
	text, _ := os.ReadFile(procFile(pid, "status"))
	if n := kilobytes(text, names...); n > 0 {
		return n
	}
	text, _ = os.ReadFile(filepath.Join(Living(pid), "status"))
	return kilobytes(text, names...)
}

// kilobytes adds up lines of the form "name: 123 kB", in bytes.
func kilobytes(text []byte, names ...string) (total int64) {
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		var kb int64
		if _, err := fmt.Sscan(value, &kb); slices.Contains(names, name) && err == nil {
			total += kb << 10
		}
	}
	return total
}

// tmpfs returns the memory of the files in those folders of process pid that are file systems in memory.
func tmpfs(pid int, folders []string) (total int64) {
	const file = 1024 // what the kernel needs for each file, besides its content
	for _, folder := range folders {
		var st unix.Statfs_t
		if err := unix.Statfs(procFile(pid, "root")+folder, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
			total += int64(st.Blocks-st.Bfree)*st.Bsize + int64(st.Files-st.Ffree)*file
		}
	}
	return total
}
