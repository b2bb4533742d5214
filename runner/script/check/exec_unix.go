//go:build unix

package check

import (
	"os/exec"
	"syscall"
)

// group makes a checker end with all that it has started: npm's programs start others.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
