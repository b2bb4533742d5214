//go:build unix

package embedded

import (
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// envLimits carries the limits that a child without a jail sets on itself.
const envLimits = "MCPRUN_LIMITS"

func childEnv() []string { return []string{"GOTRACEBACK=none"} }

// attachBridge makes a pair of sockets and gives the child its end.
func attachBridge(cmd *exec.Cmd, limits sandbox.Limits) (host net.Conn, afterStart func(), err error) {
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
	cmd.Env = append(cmd.Env, envLimits+"="+encodeLimits(limits))
	cmd.SysProcAttr = plainAttributes()
	return host, func() { theirs.Close() }, nil
}

// plainMain is the child's main.
func plainMain() int {
	// A write beyond the size limit is then an error that the script sees, not the end of the process.
	signal.Ignore(syscall.SIGXFSZ, syscall.SIGPIPE)
	if err := applyLimits(os.Getenv(envLimits)); err != nil {
		return complain(err)
	}
	os.Clearenv()
	return guestMain(os.NewFile(bridgeFD, "bridge"), samePath)
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

func alive(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH }
