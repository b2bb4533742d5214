//go:build linux && (amd64 || arm64)

package jail

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// Requests of the host to a program's init, about all other processes of the jail.
const (
	pauseAll  = 'p'
	resumeAll = 'r'
)

// pauseTime bounds the wait for processes to stop: those in the middle of a system call finish it first.
const pauseTime = 100 * time.Millisecond

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

// handleByte carries out, in init, a request that the host sends as one byte.
func handleByte(what byte) {
	switch what {
	case pauseAll:
		_ = unix.Kill(-1, unix.SIGSTOP) // all but init itself; none can be started in between
	case resumeAll:
		_ = unix.Kill(-1, unix.SIGCONT)
	}
}
