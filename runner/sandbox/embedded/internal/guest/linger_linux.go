//go:build linux && !386 && !arm

package guest

import (
	"io"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lingerTime is how long linger waits at most. The runtime would interrupt a thread that stands still for 10 ms.
const lingerTime = 2 * time.Millisecond

// linger waits, not for long, until the host has sent something, hands it on, and tells whether that was a whole frame. It
// stays in the kernel without telling Go's runtime, and takes what has come itself: to make another goroutine run, and that
// this one again, takes longer than all else that the guest does for a call. Whatever happens here, the caller goes on to
// wait in the ordinary way.
func (w *wire) linger(limit time.Duration, got func(frame []byte) bool) (any bool) {
	if w.fd < 0 {
		return false
	}
	began := time.Now()
	for end := began.Add(min(limit, lingerTime)); !any; {
		left := time.Until(end)
		if left <= 0 || !look(w.fd, began) && !readable(w.fd, left) || !w.mu.TryLock() {
			return false
		}
		n, err := 0, error(nil)
		if space := w.in.space(); len(space) > 0 { // it is full after a frame that is too large
			n, err = readNow(uintptr(w.fd), space)
		}
		if n <= 0 || err != nil { // the end is for the reader to see
			w.mu.Unlock()
			return false
		}
		w.in.took(n)
		_, err = w.hand(func(frame []byte) bool {
			any = true
			return got(frame)
		})
		w.mu.Unlock()
		if err != nil {
			return any
		}
	}
	return any
}

// busyTime is how long after it began a wait looks again and again before it sleeps: to be woken takes long, most answers do
// not. Where there are few processors, others have a use for this one: the host, and the server that is asked.
const busyTime = 350 * time.Microsecond

// manyProcessors tells whether there are enough for a guest to keep one.
var manyProcessors = runtime.NumCPU() >= 4

// look tells whether there is something to read before busyTime after began is over, without sleeping.
func look(fd int, began time.Time) bool {
	if !manyProcessors {
		return false
	}
	for end := began.Add(busyTime); time.Now().Before(end); {
		if readable(fd, 0) {
			return true
		}
	}
	return false
}

// readable waits until there is something to read.
func readable(fd int, limit time.Duration) bool {
	fds := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	ts := syscall.NsecToTimespec(int64(limit))
	n, _, _ := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return n == 1
}

// readNow reads what is there; -1 when there is nothing. The descriptor does not block.
func readNow(fd uintptr, into []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)))
	switch {
	case errno == unix.EINTR:
		return readNow(fd, into)
	case errno == unix.EAGAIN:
		return -1, nil
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

// descriptor is that of a connection, which lives as long as the process; -1 when it has none.
func descriptor(conn any) (syscall.RawConn, int) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil, -1
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, -1
	}
	n := -1
	if err := raw.Control(func(fd uintptr) { n = int(fd) }); err != nil {
		return nil, -1
	}
	return raw, n
}
