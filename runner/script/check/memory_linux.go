package check

import "golang.org/x/sys/unix"

// limitMemory bounds the data of a checker's process and of those that it starts. The process has just begun. Address space that is
// only reserved does not count.
func limitMemory(pid int) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxMemory, Max: maxMemory}, nil) // it may have ended
}
