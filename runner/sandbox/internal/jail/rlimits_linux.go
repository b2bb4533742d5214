//go:build linux && (amd64 || arm64)

package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// rlimit is one resource limit of the kernel.
type rlimit struct {
	name  string
	which int
	value uint64
}

// list returns the limits that are not zero.
func (l rlimits) list() []rlimit {
	all := []rlimit{
		{"core size", unix.RLIMIT_CORE, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 64 << 10},
		{"real-time priority", unix.RLIMIT_RTPRIO, 0},
	}
	for _, lim := range []rlimit{
		{"open files", unix.RLIMIT_NOFILE, l.Files},
		{"file size", unix.RLIMIT_FSIZE, l.FileSize},
		{"processor time", unix.RLIMIT_CPU, l.CPU},
		{"data", unix.RLIMIT_DATA, l.Data},
		{"processes", unix.RLIMIT_NPROC, l.Processes},
	} {
		if lim.value > 0 {
			all = append(all, lim)
		}
	}
	return all
}

// below returns the limit to set if old is in force: limits are never raised. A soft limit can be changed again.
func (lim rlimit) below(old syscall.Rlimit, soft bool) syscall.Rlimit {
	value := min(lim.value, old.Max)
	switch {
	case soft:
		return syscall.Rlimit{Cur: value, Max: old.Max}
	case lim.which == unix.RLIMIT_CPU: // the soft limit sends a signal that identifies the cause, the hard one kills
		return syscall.Rlimit{Cur: value, Max: min(value+1, old.Max)}
	}
	return syscall.Rlimit{Cur: value, Max: value}
}

func setLimits(l rlimits, soft bool) error {
	for _, lim := range l.list() {
		if err := setLimit(lim, soft); err != nil {
			return err
		}
	}
	return nil
}

func setLimit(lim rlimit, soft bool) error {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(lim.which, &old); err != nil {
		return fmt.Errorf("limit %s: %w", lim.name, err)
	}
	value := lim.below(old, soft)
	// syscall, not unix: it also makes the Go runtime forget the soft limit on files, which it would otherwise restore in children.
	if err := syscall.Setrlimit(lim.which, &value); err != nil {
		return fmt.Errorf("limit %s: %w", lim.name, err)
	}
	return nil
}

// limitProcess sets hard limits on another process.
func limitProcess(pid int, l rlimits) error {
	for _, lim := range l.list() {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, lim.which, nil, &old); err != nil {
			return fmt.Errorf("limit %s: %w", lim.name, err)
		}
		value := unix.Rlimit(lim.below(syscall.Rlimit(old), false))
		if err := unix.Prlimit(pid, lim.which, &value, nil); err != nil {
			return fmt.Errorf("limit %s: %w", lim.name, err)
		}
	}
	return nil
}

// queuedSignals is the maximum number of pending real-time signals and timers.
const queuedSignals = 1024

// boundSignals keeps scripts from using up the kernel's quota of pending signals and timers, which all runs of a user share. With nothing
// left, no process of that user could change its threads' privileges, and no jail would start. It is called after the last such change,
// because a process above the bound can make none.
func boundSignals() error {
	return setLimit(rlimit{"queued signals", unix.RLIMIT_SIGPENDING, queuedSignals}, false)
}

// limits returns the limits that the kernel enforces for each process.
func (c *Child) limits() rlimits {
	l := c.cfg.Limits
	r := rlimits{
		// A single file may exceed the workspace's limit by enough for the meter to notice.
		Files: uint64(l.Files), FileSize: uint64(min(l.FileSize, l.Disk+1<<20)), Data: uint64(l.Memory + dataSlack),
		CPU: uint64((l.CPU + time.Second - 1) / time.Second),
	}
	if c.ownCount {
		r.Processes = uint64(l.Processes + ownTasks)
	}
	return r
}

// ownTasks is the allowance for init's own threads if processes are counted.
const ownTasks = 24

// taskSlack is the number of tasks that a sandbox can have beyond its limit before a watchdog sees them.
const taskSlack = 2048

// MaxTasks returns the RLIMIT_NPROC of a sandbox whose processes the kernel counts together with others of uid. The limit is not exact, but
// bounds how far a fork bomb gets before a watchdog acts.
func MaxTasks(uid int, l sandbox.Limits) int {
	total := l.Processes + taskSlack
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var st syscall.Stat_t
		if syscall.Stat(dir, &st) != nil || int(st.Uid) != uid {
			continue
		}
		if tasks, err := os.ReadDir(filepath.Join(dir, "task")); err == nil {
			total += len(tasks)
		}
	}
	return total
}

// boundTasks bounds the processes of root's jails without a control group. The limit is set on init before the program inherits it, because
// the kernel counts the processes of all jails together.
func (c *Child) boundTasks() {
	value := uint64(MaxTasks(User(), c.cfg.Limits))
	limit := unix.Rlimit{Cur: value, Max: value}
	if err := unix.Prlimit(c.proc.Pid, unix.RLIMIT_NPROC, &limit, nil); err != nil {
		c.missing = append(c.missing, fmt.Sprintf("processes: limited by a watchdog only: %v", err))
	}
}
