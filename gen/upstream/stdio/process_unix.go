//go:build unix && !linux

package stdio

import (
	"os"
	"syscall"
)

// groupLeader makes a child the leader of its own process group.
func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitExit reaps the process, because there is no portable way to wait without reaping. A group signal after that
// could in theory reach a new group of the same id, if the old one is empty and ids have wrapped round within
// milliseconds.
func waitExit(_ int, reap func()) { reap() }

func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func killGroup(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// hasUnread cannot be known here.
func (p *process) hasUnread() bool { return false }
