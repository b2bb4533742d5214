//go:build unix

package folder

import (
	"io/fs"
	"os"
	"syscall"
)

// mine tells whether only this process's user can enter.
func mine(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid() && st.Mode().Perm()&0o077 == 0
}
