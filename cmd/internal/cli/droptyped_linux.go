package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped discards input of a terminal that has not been read yet.
func dropTyped(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
	}
}
