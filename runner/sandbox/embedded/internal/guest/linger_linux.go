//go:build linux && !386 && !arm

package guest

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lingerTime is how long linger waits at most. The runtime would interrupt a thread that stands still for 10 ms.
const lingerTime = 2 * time.Millisecond

// linger waits, not for long, until the host has sent something. It stays in the kernel without telling Go's runtime, which
// would make itself idle meanwhile: to wake from that takes longer than all else that the guest does for a call. Whatever
// happens here, the caller goes on to wait in the ordinary way.
func (w *wire) linger(limit time.Duration) {
	if w.fd < 0 {
		return
	}
	limit = min(limit, lingerTime)
	fds := unix.PollFd{Fd: int32(w.fd), Events: unix.POLLIN}
	ts := syscall.NsecToTimespec(int64(limit))
	_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// descriptor is that of a connection, which lives as long as the process; -1 when it has none.
func descriptor(conn any) int {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return -1
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return -1
	}
	n := -1
	if err := raw.Control(func(fd uintptr) { n = int(fd) }); err != nil {
		return -1
	}
	return n
}
