package stdio

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupLeader makes a child the leader of its own process group, and has the kernel kill it if this process dies
// first.
func groupLeader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitExit returns when the process has ended. It leaves it unreaped, so that its group id stays taken: only then is
// it safe to signal the group.
func waitExit(pid int, _ func()) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// hasUnread reports whether the process has not read all of its input yet.
func (p *process) hasUnread() (unread bool) {
	conn, err := p.stdin.SyscallConn()
	if err != nil {
		return false
	}
	_ = conn.Control(func(fd uintptr) { // fails when it is closed: there is nothing to be read
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD
		unread = err == nil && n > 0
	})
	return unread
}

func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func killGroup(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
