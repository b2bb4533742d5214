//go:build unix

package embedded

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

func childEnv() []string { return []string{"GOTRACEBACK=none"} }

// attachBridge makes a socket pair and passes one end to the child.
func attachBridge(cmd *exec.Cmd) (host net.Conn, afterStart func(), err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "guest")
	defer ours.Close() // FileConn makes a copy
	if host, err = net.FileConn(ours); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	cmd.ExtraFiles = []*os.File{theirs}
	// A new process group, so that only the host handles a Ctrl-C in the terminal. There is no parent-death signal, which would
	// be sent when the thread that forked ends; the child exits when its bridge closes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return host, func() { theirs.Close() }, nil
}

// unjailedMain is the main function of a child without a jail.
func unjailedMain() int {
	// With the signals ignored, a write beyond the size limit fails with an error instead of killing the process.
	signal.Ignore(syscall.SIGXFSZ, syscall.SIGPIPE)
	os.Clearenv()
	code := guestMain(os.NewFile(bridgeFD, "bridge"), environment{find: samePath, limit: applyLimits})
	if code == jail.OutOfMemory {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL) // as the kernel does; no script can imitate it
		select {}
	}
	return code
}

func exitCode(s *os.ProcessState) int {
	if s == nil {
		return 125
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// endedBy returns the name of the limit for which the system killed the child, or "".
func endedBy(s *os.ProcessState, limits sandbox.Limits, _ int64) string {
	// The kernel measures processor time more coarsely when it enforces the limit than when it reports the time.
	switch {
	case exitCode(s) != codeKilled || s.Exited():
		return ""
	case limits.CPU > 0 && s.UserTime()+s.SystemTime() > limits.CPU/2:
		return sandbox.LimitCPU
	}
	return sandbox.LimitMemory // killed by itself (see unjailedMain) or by the kernel
}

// applyLimits sets the resource limits of this process.
func applyLimits(l rlimits) error {
	for which, value := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_CPU: l.CPU, unix.RLIMIT_NOFILE: l.Files, unix.RLIMIT_FSIZE: l.FileSize} {
		if value == 0 && which != unix.RLIMIT_CORE {
			continue
		}
		var old syscall.Rlimit
		if err := syscall.Getrlimit(which, &old); err != nil {
			return fmt.Errorf("limit %d: %w", which, err)
		}
		lower(&old.Cur, &old.Max, value)
		if err := syscall.Setrlimit(which, &old); err != nil {
			return fmt.Errorf("limit %d: %w", which, err)
		}
	}
	return nil
}

// lower sets a soft and a hard limit to value, but never raises one. The type of limits depends on the system.
func lower[T int64 | uint64](soft, hard *T, value uint64) {
	*hard = min(*hard, T(value))
	*soft = *hard
}
