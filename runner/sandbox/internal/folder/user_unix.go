//go:build unix

package folder

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// mine tells whether only this process's user can enter.
func mine(st fs.FileInfo) bool { return OwnedBy(st, os.Geteuid()) && st.Mode().Perm()&0o077 == 0 }

// OwnedBy tells whether a file is the user uid's.
func OwnedBy(st fs.FileInfo, uid int) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == uid
}

func inGroup(st fs.FileInfo, groups []int) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && slices.Contains(groups, int(sys.Gid))
}

func sameOwner(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, too := b.Sys().(*syscall.Stat_t)
	return ok && too && x.Uid == y.Uid && x.Gid == y.Gid
}
