package reaper

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach keeps from the process what a console sends to all of its own.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}
