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
