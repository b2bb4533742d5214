//go:build !unix

package script

import (
	"os"
	"os/exec"
)

func ownProgram() string {
	exe, _ := os.Executable() // starting "" says that there is no command
	return exe
}

func workerEnv() []string { return []string{"GOTRACEBACK=none"} }

func setWorkerAttributes(*exec.Cmd) {}

// limitWorker has nothing to set: the process looks at its memory itself.
func limitWorker() error { return nil }
