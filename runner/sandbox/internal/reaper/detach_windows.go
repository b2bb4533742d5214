package reaper

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach protects the process from the events that a console sends to all of its processes.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}
