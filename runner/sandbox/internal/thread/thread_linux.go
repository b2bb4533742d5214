// Package thread calls functions on threads of their own, for what the kernel keeps for each thread apart: its view of
// the machine, its user.
package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Spare calls f on a thread that belongs to nobody else and ends with it, so f may change for good what the thread sees
// and who it is. It is never the process's first thread, which cannot end, and whose view is what /proc/self shows.
func Spare(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			result <- Spare(f) // while this one holds the first, it is another
			return
		}
		result <- f() // not unlocked: the thread ends with the goroutine
	}()
	return <-result
}
