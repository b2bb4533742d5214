package docker

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/mounts"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// kernelView is a running container's first process and control group, by which this process kills, limits and measures it without
// the engine. It exists only if the engine's containers run on this machine and in this PID namespace.
type kernelView struct {
	pid    int
	handle *os.File // a pidfd: unlike the process ID, it is never reused
	group  *cgroup.Group
	tree   *processTree // if there is no group
}

// openKernelView finds the container with the ID whose first process is pid, according to the engine. If mark is not empty, the
// container is in no control group, and is recognized by a mounted folder with that secret name.
func openKernelView(id string, pid int, mark string) (*kernelView, error) {
	if pid <= 0 {
		return nil, errors.New("the engine names no process")
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open a handle for process %d: %w", pid, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that waiting does not block a thread
		unix.Close(fd)
		return nil, err
	}
	in := &kernelView{pid: pid, handle: os.NewFile(uintptr(fd), "pidfd")}
	// The process ID comes from the engine; the group's name shows that it means the container here as well.
	if mark != "" {
		in.tree, err = newProcessTree(pid, mark)
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

// over reports whether the first process has ended, and with it every other.
func (in *kernelView) over() bool {
	conn, err := in.handle.SyscallConn()
	if err != nil {
		return true
	}
	over := false
	err = conn.Control(func(fd uintptr) { over = readable(fd) })
	return over || err != nil
}

// wait returns when the container's first process has ended, or the handle is closed.
func (in *kernelView) wait() {
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
func (in *kernelView) kill() error {
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

func (in *kernelView) close() { in.handle.Close() }

// count reads what the container has used so far. Complete is false if its control group was removed, at least in part; figures
// that could not be read are then zero.
func (in *kernelView) count() (c counters, complete bool) {
	if in.tree != nil {
		return in.tree.count(), false
	}
	use, complete := in.group.Use()
	return counters{cpu: use.CPU, memory: use.Memory, ooms: use.OutOfMemory, forks: use.OutOfTasks}, complete
}

// pids lists the container's processes that can be found.
func (in *kernelView) pids() []int {
	if in.tree != nil {
		return in.tree.pids()
	}
	all, _ := in.group.PIDs()
	return all
}

// pauser returns a function that stops all of the container's processes at once; nil if that is not permitted.
func (in *kernelView) pauser() func() (resume func()) {
	if !in.group.CanFreeze() {
		return nil
	}
	return func() func() {
		in.group.Freeze()
		return in.group.Thaw
	}
}

// limit sets the limits of a running container; seconds bounds the processor time of each process from now on, if it is not zero.
// The processes must not start others meanwhile. Limits of single processes can only be lowered.
func (in *kernelView) limit(lim sandbox.Limits, seconds int64, user, group int) error {
	if err := in.limitGroup(lim); err != nil {
		return fmt.Errorf("set the limits of a container: %w", err)
	}
	used, complete := in.count()
	if !complete {
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

// checkLimits checks whether limit will work, and sets the limits of all processes together.
func (in *kernelView) checkLimits(lim sandbox.Limits, user, group int) error {
	if err := in.limitGroup(lim); err != nil {
		return fmt.Errorf("set the limits of a container: %w", err)
	}
	return in.eachProcess(user, group, func(pid int) error {
		var now unix.Rlimit
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now)
	})
}

// eachProcess calls f for every process of the container; if root may not do it, as the user of the processes.
func (in *kernelView) eachProcess(user, group int, f func(pid int) error) error {
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

// becomeUser changes the user of this thread only; the library's calls would change all threads.
func becomeUser(user, group int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(group), uintptr(group), uintptr(group)); errno != 0 {
		return fmt.Errorf("become group %d: %w", group, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
		return fmt.Errorf("become user %d: %w", user, errno)
	}
	return nil
}

func (in *kernelView) limitGroup(lim sandbox.Limits) error {
	return in.group.SetLimits(cgroup.Limits{Memory: lim.Memory, Tasks: lim.Processes})
}

func mountsAvailable() error { return mounts.Available() }

// mountFolders mounts the run's folders in a container that has none of them yet, and sets the size of its /tmp.
func (in *kernelView) mountFolders(spec sandbox.Spec, lim sandbox.Limits) error {
	lives := func() bool { return !in.over() }
	return mounts.Show(in.pid, lives, mounts.OfRun(spec, lim), func(int) error {
		options := fmt.Sprintf("size=%d,nr_inodes=%d", lim.Tmp, mounts.Files(lim.Tmp))
		if err := unix.Mount("", "/tmp", "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
			return fmt.Errorf("set the size of /tmp: %w", err)
		}
		return nil
	})
}

// maxProcesses returns how many processes a user may have here, and no more than the kernel's usual number.
func maxProcesses() (int64, bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil {
		return 0, false
	}
	return int64(min(l.Max, 32768)), true
}
