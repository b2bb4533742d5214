//go:build !linux

package script

import "os"

func ownProgram() string {
	exe, _ := os.Executable() // starting "" reports that there is no command
	return exe
}

// limitWorker has nothing to set: the process watches its own heap.
func limitWorker(uint64) error { return nil }
