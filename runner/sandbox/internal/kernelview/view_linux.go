package kernelview

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/mounts"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/pidfd"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// View is a running container. When its first process ends, all others end with it.
type View struct {
	*pidfd.Process
	group *cgroup.Group
	tree  *processTree // set if there is no group

	mu    sync.Mutex
	base  Counters // used before the run
	last  Counters
	final bool // last was read after the end
}

// Open finds the container with the ID whose first process, according to the engine, is pid. If mark is not empty, the container is in no
// control group, and is recognised by a mounted folder with that secret name.
func Open(id string, pid int, mark string) (*View, error) {
	if pid <= 0 {
		return nil, errors.New("the engine names no process")
	}
	process, err := pidfd.Open(pid)
	if err != nil {
		return nil, err
	}
	in := &View{Process: process}
	// The process ID comes from the engine. The group's name shows that the ID means the container here as well.
	if mark != "" {
		in.tree, err = newProcessTree(pid, mark)
	} else {
		in.group, err = cgroup.Of(pid, id)
	}
	if err == nil && in.Ended() {
		err = fmt.Errorf("process %d has ended", pid)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// Wait returns when the container's first process has ended or the view is closed. It reads the final figures, because the control group
// exists a moment longer.
func (in *View) Wait() {
	in.Process.Wait()
	in.read(true)
}

// Measure returns what the run has used so far.
func (in *View) Measure() Counters {
	in.read(false)
	c, _ := in.Last()
	return c
}

// Last returns the last figures, and whether they were read after the end.
func (in *View) Last() (c Counters, final bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.last.since(in.base), in.final
}

// Rebase makes the run begin now: what was used before does not count.
func (in *View) Rebase() {
	in.read(false)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.base = in.last
}

// read updates the figures. They are final only if all of them were read, because the group may have been removed in part.
func (in *View) read(final bool) {
	c, complete := in.count()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.last, in.final = in.last.merge(c), in.final || final && complete
}

// count reads what the container has used so far. complete is false if its control group was removed, at least in part; figures that could
// not be read are then zero.
func (in *View) count() (c Counters, complete bool) {
	if in.tree != nil {
		return in.tree.count(), false
	}
	use, complete := in.group.Use()
	return Counters{CPU: use.CPU, Memory: use.Memory, OutOfMemory: use.OutOfMemory, OutOfTasks: use.OutOfTasks}, complete
}

// PIDs lists the container's processes, if they can be found.
func (in *View) PIDs() []int {
	if in.tree != nil {
		return in.tree.pids()
	}
	all, _ := in.group.PIDs()
	return all
}

// Limit sets the limits of a running container. seconds, if not zero, bounds the processor time of each process from now on. The processes
// must not start others meanwhile. Limits of single processes can only be lowered.
func (in *View) Limit(lim sandbox.Limits, seconds int64, user, group int) error {
	if err := in.group.SetLimits(cgroup.Limits{Memory: lim.Memory, Tasks: lim.Processes}); err != nil {
		return fmt.Errorf("set the limits of a container: %w", err)
	}
	used, complete := in.count()
	if !complete {
		return errors.New("set the limits of a container: its control group is gone")
	}
	limits := map[int]unix.Rlimit{
		unix.RLIMIT_FSIZE:  {Cur: uint64(lim.LargestFile()), Max: uint64(lim.LargestFile())},
		unix.RLIMIT_NOFILE: {Cur: uint64(lim.Files), Max: uint64(lim.Files)},
	}
	if seconds > 0 {
		end := uint64(seconds) + uint64((used.CPU+time.Second-1)/time.Second)
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

// eachProcess calls f for every process of the container, as the user of the processes, because in many containers root may not do it.
func (in *View) eachProcess(user, group int, f func(pid int) error) error {
	pids, err := in.group.PIDs()
	if err != nil {
		return fmt.Errorf("set the limits of a container: %w", err)
	}
	if !slices.Contains(pids, in.PID) {
		return fmt.Errorf("set the limits of a container: process %d is not one of its processes", in.PID)
	}
	return thread.Spare(func() error {
		if err := becomeUser(user, group); err != nil {
			return err
		}
		for _, pid := range pids {
			if err := f(pid); err != nil {
				return fmt.Errorf("set the limits of process %d: %w", pid, err)
			}
		}
		return nil
	})
}

// becomeUser changes the user of this thread only; the library's functions would change all threads.
func becomeUser(user, group int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(group), uintptr(group), uintptr(group)); errno != 0 {
		return fmt.Errorf("become group %d: %w", group, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
		return fmt.Errorf("become user %d: %w", user, errno)
	}
	return nil
}

// MountsAvailable returns why this process cannot enter containers, or nil if it can.
var MountsAvailable = sync.OnceValue(mounts.Available)

// MountFolders mounts the run's folders in a container that has none of them yet, and sets the size of its /tmp.
func (in *View) MountFolders(spec sandbox.Spec, lim sandbox.Limits) error {
	lives := func() bool { return !in.Ended() }
	return mounts.Show(in.PID, lives, mounts.OfRun(spec, lim), func(int) error {
		options := fmt.Sprintf("size=%d,nr_inodes=%d", lim.Tmp, mounts.Files(lim.Tmp))
		if err := unix.Mount("", "/tmp", "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
			return fmt.Errorf("set the size of /tmp: %w", err)
		}
		return nil
	})
}

// MaxProcesses returns how many processes a user may have here, but at most the kernel's usual number.
func MaxProcesses() (int64, bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil {
		return 0, false
	}
	return int64(min(l.Max, 32768)), true
}
