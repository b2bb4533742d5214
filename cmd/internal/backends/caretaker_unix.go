//go:build unix

package backends

import (
	"os/exec"
	"syscall"
)

// apart keeps from a process what a terminal sends to all of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
