//go:build unix

package sandboxtest

import (
	"os"
	"syscall"
	"testing"
)

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

// blocks is what a file takes on the disk, in bytes.
func blocks(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
