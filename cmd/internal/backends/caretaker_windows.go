package backends

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart keeps from a process what a console sends to all of its own, and what befalls them when it is closed.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}
