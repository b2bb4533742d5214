package backends

import (
	"os/exec"
	"syscall"
)

// apart keeps from a process what a console sends to all of its own.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
