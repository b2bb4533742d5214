//go:build linux && (amd64 || arm64)

package jail

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// watch measures the jail's processes every watchInterval in which they ran, and kills the jail when they exceed a limit. It
// always enforces the limit of processor time, and those of memory and processes if no control group does.
func (c *Child) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	bounded := c.group.BoundsMemory() && c.group.BoundsTasks()
	for last := time.Duration(-1); ; {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		now, counted := c.group.CPU()
		if counted && bounded && now == last {
			continue
		}
		last = now
		if limit := c.exceeded(); limit != "" {
			c.kill(limit)
		}
	}
}

// exceeded returns the limit that the jail's processes exceed, or "".
func (c *Child) exceeded() string {
	l := c.cfg.Limits
	used := c.tree.Measure()
	if used.Tasks > c.tree.MaxTasks { // only if nothing else bounds them
		return sandbox.LimitProcesses
	}
	// A kernel that counts tasks without a control group does not report that it refused one.
	if c.ownCount && !c.group.BoundsTasks() && used.Tasks >= l.Processes+ownTasks {
		c.full.Store(true)
	}
	c.most.Store(max(c.most.Load(), used.Memory))
	switch {
	case used.Memory > l.Memory:
		return sandbox.LimitMemory
	case l.CPU > 0 && c.processorTime(used) > l.CPU:
		return sandbox.LimitCPU
	case c.cfg.Program != "" && proctree.ManyWatches(used.PIDs):
		return sandbox.LimitFiles
	}
	return ""
}

// newTree returns the jail's process tree, to be measured against its present limits. An init that has a program is not part
// of the run. Files in memory lie in the jail's own folders, and count if no control group counts them.
func (c *Child) newTree() *proctree.Tree {
	t := &proctree.Tree{Root: c.proc.Pid, MaxTasks: c.cfg.Limits.Processes + 2*ownTasks, MaxMemory: c.cfg.Limits.Memory}
	if c.cfg.Program != "" {
		t.Skip = c.proc.Pid
	}
	if c.namespaces && !c.group.BoundsMemory() {
		t.Folders = append([]string{"/tmp"}, c.cfg.Tmpfs...)
	}
	return t
}

// processorTime returns the time that the run has used. The group includes processes that ended without being waited for.
func (c *Child) processorTime(u proctree.Usage) time.Duration {
	used := u.CPU
	if t, ok := c.group.CPU(); ok {
		used = max(used, t)
	}
	return used - c.before
}

// taskSlack is how many tasks beyond its limit a sandbox can have until a watchdog sees them.
const taskSlack = 2048

// MaxTasks returns the RLIMIT_NPROC of a sandbox whose processes the kernel counts together with others of uid: not an exact
// limit, but it bounds how far a fork bomb gets before a watchdog acts.
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

// Requests of the host to a program's init, about all other processes of the jail.
const (
	pauseAll  = 'p'
	resumeAll = 'r'
)

// pauseTime bounds the wait for processes to stand still: those in the middle of a system call finish it first.
const pauseTime = 100 * time.Millisecond

// prepareMeters records what the writable mounts hold before the run can write there.
func (c *Child) prepareMeters(mounts []Mount) {
	for _, m := range mounts {
		if m.Writable {
			c.disks = append(c.disks, meter.NewDisk(m.Source, c.cfg.Limits))
		}
	}
	c.printed = meter.NewOutput(c.cfg.Limits.Output, func() { c.kill(sandbox.LimitOutput) })
}

// readMeters stops the meters after the jail has ended, and records what they found.
func (c *Child) readMeters(exit *sandbox.Exit) {
	for _, d := range c.disks {
		if d.Stop() {
			exit.Reach(sandbox.LimitDisk)
		}
		if d.HitFileSize() {
			exit.Reach(sandbox.LimitFileSize)
		}
	}
	c.disks = nil
	if c.printed != nil && c.printed.Hit() {
		exit.Reach(sandbox.LimitOutput)
	}
}

// pids lists the jail's processes.
func (c *Child) pids() []int {
	return c.newTree().Measure().PIDs
}

// pause stops all of the jail until resume is called. Only init can stop all other processes at once; if it runs a
// function, the jail has no others.
func (c *Child) pause() (resume func()) {
	tell := func(what byte) { _, _ = c.control.Write([]byte{what}) }
	if c.cfg.Program == "" {
		tell = func(what byte) {
			_ = c.proc.Signal(map[byte]os.Signal{pauseAll: unix.SIGSTOP, resumeAll: unix.SIGCONT}[what])
		}
	}
	tell(pauseAll)
	for began := time.Now(); time.Since(began) < pauseTime && !c.paused(); {
		time.Sleep(time.Millisecond)
	}
	return func() { tell(resumeAll) }
}

// paused reports whether all processes of the jail are stopped, apart from an init that has a program.
func (c *Child) paused() bool {
	return !slices.ContainsFunc(c.pids(), func(pid int) bool {
		if pid == c.proc.Pid && c.cfg.Program != "" {
			return false
		}
		f := proctree.Stat(pid)
		return len(f) > 0 && f[0] != "T" && f[0] != "Z" && f[0] != "X"
	})
}

// obey carries out, in init, a request that the host sends as one byte.
func obey(what byte) {
	switch what {
	case pauseAll:
		_ = unix.Kill(-1, unix.SIGSTOP) // all but init itself; none can be started in between
	case resumeAll:
		_ = unix.Kill(-1, unix.SIGCONT)
	}
}
