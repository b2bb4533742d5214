//go:build unix && !linux

package script

import (
	"os"
	"os/exec"
	"syscall"
)

func ownProgram() string {
	exe, _ := os.Executable() // starting "" says that there is no command
	return exe
}

func workerEnv() []string { return []string{"GOTRACEBACK=none"} }

// setWorkerAttributes: a process group of its own, so that a Ctrl-C in the terminal is the program's to handle.
func setWorkerAttributes(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// limitWorker has nothing to set: the process looks at its memory itself.
func limitWorker() error { return nil }
