package docker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// inside is a running container as this machine's own kernel knows it: its first process and its control group. There
// is one only where the engine's containers run on this machine and in this process namespace. It is used for what the
// engine is too slow for or does not tell, and when the engine is gone.
type inside struct {
	pid    int
	handle *os.File // a pidfd: the number may be another's by now, this is not
	group  *cgroup.Group
	eyes   *eyes // where there is no group
}

// lookInside finds the container with the ID whose first process is said to be pid. One in no control group is found
// where it has mounted a folder whose name, which nobody else knows, is mark.
func lookInside(id string, pid int, mark string) (*inside, error) {
	if pid <= 0 {
		return nil, errors.New("the engine names no process")
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open a handle for process %d: %w", pid, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that waiting for it takes no thread
		unix.Close(fd)
		return nil, err
	}
	in := &inside{pid: pid, handle: os.NewFile(uintptr(fd), "pidfd")}
	// The number is the engine's; that it means the container here as well is seen by the name of the group.
	if mark != "" {
		in.eyes, err = newEyes(pid, mark)
	} else {
		in.group, err = cgroup.Of(pid, id)
	}
	if err != nil {
		return nil, errors.Join(err, in.handle.Close())
	}
	if in.over() {
		return nil, errors.Join(fmt.Errorf("process %d has ended", pid), in.handle.Close())
	}
	return in, nil
}

// over tells whether the first process, and with it every other, has ended.
func (in *inside) over() bool {
	conn, err := in.handle.SyscallConn()
	if err != nil {
		return true
	}
	over := false
	err = conn.Control(func(fd uintptr) { over = readable(fd) })
	return over || err != nil
}

// wait returns when the container's first process has ended, or the handle is closed.
func (in *inside) wait() {
	conn, err := in.handle.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(readable) // an error says that it was closed
}

func readable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// kill ends every process of the container: the first takes along all of its namespace.
func (in *inside) kill() error {
	conn, err := in.handle.SyscallConn()
	if err != nil {
		return err
	}
	var killed error
	if err := conn.Control(func(fd uintptr) { killed = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) }); err != nil {
		return err
	}
	if errors.Is(killed, unix.ESRCH) {
		return nil
	}
	return killed
}

func (in *inside) close() { in.handle.Close() }

// count reads what the group has used so far. Whole is false when it is not there any more, or only in part; then what
// could not be read is zero.
func (in *inside) count() (c counters, whole bool) {
	if in.eyes != nil {
		return in.eyes.count(), false
	}
	use, whole := in.group.Use()
	return counters{cpu: use.CPU, memory: use.Memory, ooms: use.OutOfMemory, forks: use.OutOfTasks}, whole
}

// pids lists the container's processes, as far as they can be told.
func (in *inside) pids() []int {
	if in.eyes != nil {
		return in.eyes.pids()
	}
	all, _ := in.group.PIDs()
	return all
}

// pauser is what stops all of the container's processes at once; nil where that is not permitted.
func (in *inside) pauser() func() (resume func()) {
	if !in.group.CanFreeze() {
		return nil
	}
	return func() func() {
		in.group.Freeze()
		return in.group.Thaw
	}
}

// limit sets the limits of a container that runs; seconds bounds the processor time of each process from now on, if
// it is not zero. The processes must be ones that do not start others while this happens. What bounds each process can
// only be made less.
func (in *inside) limit(lim sandbox.Limits, seconds int64, user, group int) error {
	if err := in.limitGroup(lim); err != nil {
		return fmt.Errorf("set the limits of a container: %w", err)
	}
	used, whole := in.count()
	if !whole {
		return errors.New("set the limits of a container: its control group is gone")
	}
	limits := map[int]unix.Rlimit{
		unix.RLIMIT_FSIZE:  {Cur: uint64(fileSize(lim)), Max: uint64(fileSize(lim))},
		unix.RLIMIT_NOFILE: {Cur: uint64(lim.Files), Max: uint64(lim.Files)},
	}
	if seconds > 0 {
		end := uint64(seconds) + uint64((used.cpu+time.Second-1)/time.Second)
		limits[unix.RLIMIT_CPU] = unix.Rlimit{Cur: end, Max: end + 1}
	}
	return in.eachProcess(user, group, func(pid int) error {
		for resource, l := range limits {
			if err := unix.Prlimit(pid, resource, &l, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// tryLimit finds out whether limit will work, and sets what bounds all processes together.
func (in *inside) tryLimit(lim sandbox.Limits, user, group int) error {
	if err := in.limitGroup(lim); err != nil {
		return fmt.Errorf("set the limits of a container: %w", err)
	}
	return in.eachProcess(user, group, func(pid int) error {
		var now unix.Rlimit
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now)
	})
}

// eachProcess calls f for every process of the container; where root may not do it, as whom the processes run.
func (in *inside) eachProcess(user, group int, f func(pid int) error) error {
	pids, err := in.group.PIDs()
	if err != nil {
		return fmt.Errorf("set the limits of a container: %w", err)
	}
	if !slices.Contains(pids, in.pid) {
		return fmt.Errorf("set the limits of a container: process %d is not among its own", in.pid)
	}
	all := func() error {
		for _, pid := range pids {
			if err := f(pid); err != nil {
				return fmt.Errorf("set the limits of process %d: %w", pid, err)
			}
		}
		return nil
	}
	err = all()
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	// Root lacks CAP_SYS_RESOURCE, as it does in many containers.
	return thread.Spare(func() error {
		if err := becomeUser(user, group); err != nil {
			return err
		}
		return all()
	})
}

// becomeUser changes the user of this thread alone, which the library's calls would change for all.
func becomeUser(user, group int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(group), uintptr(group), uintptr(group)); errno != 0 {
		return fmt.Errorf("become group %d: %w", group, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
		return fmt.Errorf("become user %d: %w", user, errno)
	}
	return nil
}

func (in *inside) limitGroup(lim sandbox.Limits) error {
	return errors.Join(in.group.SetTasks(lim.Processes), in.group.SetMemory(lim.Memory))
}

// mostProcesses is how many processes a user may have here, as far as programs that are modest with it go.
func mostProcesses() (int64, bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil {
		return 0, false
	}
	return int64(min(l.Max, 32768)), true
}

// mostSignals is how many signals of this process's user may wait.
func mostSignals() (int64, bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_SIGPENDING, &l); err != nil {
		return 0, false
	}
	return int64(min(l.Max, math.MaxInt64)), true
}
