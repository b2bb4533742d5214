package docker

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"
)

// oomLogged looks in the kernel's log for a memory kill in the container's control group. Only root may read the log
// on most machines; for others, and where the kernel was too busy to log it, the answer is false.
func oomLogged(container string) bool {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	record := make([]byte, 8<<10) // the longest there is
	for {
		n, err := unix.Read(fd, record)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // overwritten while we read: on with the next
		case err != nil: // EAGAIN: the end
			return false
		case bytes.Contains(record[:n], []byte("oom-kill:")) && bytes.Contains(record[:n], []byte(container)):
			return true
		}
	}
}
