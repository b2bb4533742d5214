//go:build linux && (amd64 || arm64)

package jail

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// What the host asks init of a program to do with all other processes of the jail.
const (
	pauseAll  = 'p'
	resumeAll = 'r'
)

// pauseTime bounds the wait for processes to stand still: those in the middle of a system call finish it first.
const pauseTime = 100 * time.Millisecond

// prepareMeters notes what the writable mounts hold before the jail's run can write there.
func (c *Child) prepareMeters(mounts []Mount) {
	for _, m := range mounts {
		if m.Writable {
			c.disks = append(c.disks, meter.NewDisk(m.Source, c.cfg.Limits))
		}
	}
	c.printed = meter.NewOutput(c.cfg.Limits.Output, func() { c.kill(sandbox.LimitOutput) })
}

func (c *Child) watchDisks() {
	for _, d := range c.disks {
		d.Watch(meter.Guest{PIDs: c.pids, Pause: c.pause, AtRest: c.atRest}, func() { c.kill(sandbox.LimitDisk) })
	}
}

// readMeters ends the watching, once the jail has ended, and notes what was found.
func (c *Child) readMeters(exit *sandbox.Exit) {
	for _, d := range c.disks {
		if d.Stop() {
			exit.Hit = append(exit.Hit, sandbox.LimitDisk)
		}
		if d.HitFileSize() {
			exit.Hit = append(exit.Hit, sandbox.LimitFileSize)
		}
	}
	c.disks = nil
	if c.printed != nil && c.printed.Hit() {
		exit.Hit = append(exit.Hit, sandbox.LimitOutput)
	}
}

// pids lists the jail's processes.
func (c *Child) pids() []int {
	return measure(c.proc.Pid, true, c.cfg.Limits.Processes+2*ownTasks).pids
}

// pause lets all of the jail stand still until resume is called. Only init can stop all others at one stroke; where it
// runs a function, there are no others.
func (c *Child) pause() (resume func()) {
	tell := func(what byte) { _, _ = c.control.Write([]byte{what}) }
	if c.cfg.Program == "" {
		tell = func(what byte) {
			_ = c.proc.Signal(map[byte]os.Signal{pauseAll: unix.SIGSTOP, resumeAll: unix.SIGCONT}[what])
		}
	}
	tell(pauseAll)
	for began := time.Now(); time.Since(began) < pauseTime && !c.stands(); {
		time.Sleep(time.Millisecond)
	}
	return func() { tell(resumeAll) }
}

// stands tells whether no process of the jail, besides an init that has a program, does anything.
func (c *Child) stands() bool {
	return !slices.ContainsFunc(c.pids(), func(pid int) bool {
		if pid == c.proc.Pid && c.cfg.Program != "" {
			return false
		}
		f := statFields(pid)
		return len(f) > 0 && f[0] != "T" && f[0] != "Z" && f[0] != "X"
	})
}

// obey does, in init, what the host asks with one byte.
func obey(what byte) {
	switch what {
	case pauseAll:
		_ = unix.Kill(-1, unix.SIGSTOP) // all but init itself, and none can be started meanwhile
	case resumeAll:
		_ = unix.Kill(-1, unix.SIGCONT)
	}
}
