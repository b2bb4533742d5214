//go:build unix

package sandboxtest

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// given creates a file of a kind that a script may be unable to create: a socket, a device if the test runs as root, or else a pipe.
func given(t *testing.T, kind, at string) {
	t.Helper()
	switch {
	case kind == "socket":
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at})
		must(t, err)
		l.SetUnlinkOnClose(false)
		must(t, l.Close())
	case kind == "device" && os.Geteuid() == 0 && syscall.Mknod(at, syscall.S_IFCHR|0o666, 1<<8|5) == nil:
	default:
		must(t, syscall.Mkfifo(at, 0o666))
	}
	must(t, os.Chmod(at, 0o666))
}

// inheritable opens a file so that every child of this process gets the descriptor, until the test ends.
func inheritable(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	fd, err := syscall.Dup(int(f.Fd())) // without close-on-exec
	must(t, err)
	must(t, f.Close())
	t.Cleanup(func() { _ = syscall.Close(fd) })
}

// blocks returns the space that a file takes on the disk, in bytes.
func blocks(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
