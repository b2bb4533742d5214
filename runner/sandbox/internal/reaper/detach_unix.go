//go:build unix

package reaper

import (
	"os/exec"
	"syscall"
)

// detach keeps from the process what a terminal sends to all of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
