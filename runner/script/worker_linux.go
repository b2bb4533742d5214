package script

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownProgram() string { return "/proc/self/exe" } // also after the file was replaced

func workerEnv() []string { return []string{"GOTRACEBACK=none"} }

// setWorkerAttributes: a process group of its own, so that a Ctrl-C in the terminal is the program's to handle.
func setWorkerAttributes(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// limitWorker bounds what this process may get of the system. Address space that is only reserved does not count.
func limitWorker() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxWorkerData, Max: maxWorkerData})
}
