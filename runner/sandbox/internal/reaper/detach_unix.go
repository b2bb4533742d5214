//go:build unix

package reaper

import (
	"os/exec"
	"syscall"
)

// detach protects the process from the signals that a terminal sends to all of its processes.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
