// Package thread calls functions on threads of their own, for state that the kernel keeps per thread: mount namespace, user,
// control group.
package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Spare calls f on a thread that runs nothing else and ends with f, so that f may change the thread's namespaces and user. It is never the
// process's first thread, which cannot end, and which /proc/self describes.
func Spare(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			result <- Spare(f) // while this goroutine holds the first thread, the new one gets another
			return
		}
		result <- f() // not unlocked, so that the thread ends with the goroutine
	}()
	return <-result
}

// Go calls f on a new goroutine that is locked to a thread other than the process's first, because the memory of all threads is charged to
// the first thread's version 1 control group. The thread ends with f unless f unlocks it.
func Go(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		defer runtime.UnlockOSThread()
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread() // while this goroutine holds the first thread, the new one gets another
			close(locked)
			f()
		}()
		<-locked
	}()
}
