//go:build linux && (amd64 || arm64)

package jail

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// residentMemory is what a process holds; a program can let its own memory be swapped.
func residentMemory(pid int) int64 {
	sum, _, _ := told(pid, "status", "RssAnon", "RssShmem", "VmPTE", "VmSwap")
	return sum
}

// told adds up lines of a file that the kernel has for each process; ok is false where none is there.
func told(pid int, file string, names ...string) (sum int64, ok bool, err error) {
	text, err := os.ReadFile(procFile(pid, file))
	if sum, ok = kilobytes(string(text), names...); ok {
		return sum, true, nil
	}
	if dir := meter.Living(pid); dir != procFile(pid, "") {
		text, err = os.ReadFile(filepath.Join(dir, file))
		sum, ok = kilobytes(string(text), names...)
	}
	return sum, ok, err
}

const (
	// fewFiles is how many descriptors a process may have without being looked at closely, manyFiles how many all together.
	fewFiles, manyFiles = 64, 256
	// queueSize is what may wait in one socket, in the kernel's memory: twice net.core.wmem_default as Linux sets it, which
	// the filter lets no script raise.
	queueSize = 2 * 212992
	// pipeSize is what may wait in one pipe. A user's pipes get less than this, or more, once they hold much together.
	pipeSize = 64 << 10
	// eventsSize is what may wait in one watch of folders: fs.inotify.max_queued_events, as Linux sets it, with long names.
	eventsSize = 16384 * 512
)

// queuedMemory is what the processes can keep from every count but a cgroup's: data in sockets and pipes, and events, that
// nobody reads. Only where there are many descriptors does more than events count, and only until it is more than enough.
// Where strict, what may not be looked at is taken for the worst that it can be.
func queuedMemory(pids []int, enough int64, strict bool) (sum int64) {
	dirs, files, all := make(map[int]string), make(map[int]int), 0
	for _, pid := range pids {
		dirs[pid] = meter.Living(pid)
		files[pid] = openFiles(filepath.Join(dirs[pid], "fd"))
		all += files[pid]
	}
	seen := make(map[string]bool)
	for pid, n := range files {
		few := n <= fewFiles && all <= manyFiles
		dir := filepath.Join(dirs[pid], "fd")
		names, err := os.ReadDir(dir)
		if strict && errors.Is(err, fs.ErrPermission) && hasMemory(dirs[pid]) {
			sum += int64(cmp.Or(n, fewFiles)) * eventsSize
		}
		for _, name := range names {
			to, err := os.Readlink(filepath.Join(dir, name.Name()))
			if seen[to] {
				continue
			}
			seen[to] = err == nil
			kind, _, _ := strings.Cut(to, ":")
			switch {
			case to == "anon_inode:inotify":
				seen[to] = false // all have this name
				sum += eventsSize
			case few:
			case kind == "socket", strict && errors.Is(err, fs.ErrPermission):
				sum += queueSize
			case kind == "pipe":
				sum += pipeSize
			}
			if sum > enough {
				return sum
			}
		}
	}
	return sum
}

// openFiles is how many descriptors a process has, whose folder of them is dir; 0 where that cannot be told.
func openFiles(dir string) int {
	if st, err := os.Stat(dir); err == nil && st.Size() > 0 {
		return int(st.Size()) // Linux 6.2 and newer
	}
	names, _ := os.ReadDir(dir)
	return len(names)
}

// hasMemory tells whether a process is not about to end. When it is, nobody may look at its files any more.
func hasMemory(dir string) bool {
	text, _ := os.ReadFile(filepath.Join(dir, "status"))
	_, ok := kilobytes(string(text), "RssAnon")
	return ok
}

// closely is the memory of u's processes and of files of theirs that are kept in memory, filed bytes. Where that is more
// than enough, each page that several share, as after a fork or of a mapped file, counts once: that takes too long to be
// asked every time. Where the kernel does not tell, the first figure stands.
func (u usage) closely(enough, filed int64) int64 {
	roughly := u.memory + filed
	if roughly <= enough {
		return roughly
	}
	var private, shared int64
	for _, pid := range u.pids {
		n, ok, err := told(pid, "smaps_rollup", "Pss_Anon", "SwapPss")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has just ended
		}
		if err != nil || !ok {
			return roughly
		}
		private += n + pageTables(pid)
		n, _, _ = told(pid, "smaps_rollup", "Pss_Shmem")
		shared += n
	}
	return private + max(shared, filed) // shared memory has files in memory behind it: see filter
}

// filed is what the files in folders of a sandbox take that are file systems of its own in memory. The sandbox is that
// of the process pid. What cannot be looked at is not counted.
func filed(pid int, folders []string) (sum int64) {
	const file = 1024 // what the kernel needs for one, beside what is in it
	for _, folder := range folders {
		var st unix.Statfs_t
		if err := unix.Statfs(procFile(pid, "root")+folder, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
			sum += int64(st.Blocks-st.Bfree)*st.Bsize + int64(st.Files-st.Ffree)*file
		}
	}
	return sum
}

// pageTables is memory that a process's mappings cost: there need be nothing in them.
func pageTables(pid int) int64 {
	sum, _, _ := told(pid, "status", "VmPTE")
	return sum
}

// kilobytes adds up lines of the form "name: 123 kB", in bytes; ok is false where none is there.
func kilobytes(text string, names ...string) (sum int64, ok bool) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if !slices.Contains(names, name) {
			continue
		}
		var kb int64
		if _, err := fmt.Sscan(value, &kb); err == nil {
			sum, ok = sum+kb<<10, true
		}
	}
	return sum, ok
}
