package stdio

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const findsMarked = true

// maxEnviron is how much of a process's environment is read, in bytes.
const maxEnviron = 1 << 20

func ownMark() mark { return markIn(readEnviron(os.Getpid())) }

// signalMarked sends a signal to the processes that belongs selects, and returns their number. With signal 0 it only
// counts them. A zombie process has no environment any more, so it does not count.
func signalMarked(belongs func(m mark, uid int) bool, sig syscall.Signal) int {
	n := 0
	for _, pid := range processIDs() {
		if pid == os.Getpid() || !isMarked(pid, belongs) {
			continue
		}
		// The handle refers to one process for good, so its mark is checked again.
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if isMarked(pid, belongs) && p.Signal(sig) == nil {
			n++
		}
		_ = p.Release()
	}
	return n
}

func isMarked(pid int, belongs func(m mark, uid int) bool) bool {
	m := markIn(readEnviron(pid))
	if m.owner == "" {
		return false
	}
	var st syscall.Stat_t
	err := syscall.Stat(procPath(pid, ""), &st)
	return err == nil && belongs(m, int(st.Uid))
}

func procPath(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// readEnviron returns the environment that a process was started with, or nil if we may not read it.
func readEnviron(pid int) []byte {
	f, err := os.Open(procPath(pid, "environ"))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxEnviron))
	return text
}

func processIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
