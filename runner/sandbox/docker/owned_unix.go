//go:build unix

package docker

import (
	"io/fs"
	"syscall"
)

func ownedBy(st fs.FileInfo, uid int) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == uid
}

func inGroup(st fs.FileInfo, gid int) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Gid) == gid
}

func sameOwner(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, too := b.Sys().(*syscall.Stat_t)
	return ok && too && x.Uid == y.Uid && x.Gid == y.Gid
}
