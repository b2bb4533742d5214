//go:build unix

package folder

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// mine reports whether only this process's user can enter the folder.
func mine(st fs.FileInfo) bool { return OwnedBy(st, os.Geteuid()) && st.Mode().Perm()&0o077 == 0 }

// OwnedBy reports whether the user uid owns a file.
func OwnedBy(st fs.FileInfo, uid int) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == uid
}

func inGroup(st fs.FileInfo, groups []int) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && slices.Contains(groups, int(sys.Gid))
}
