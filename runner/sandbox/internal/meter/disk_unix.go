//go:build linux || darwin

package meter

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// onDisk returns the bytes that a file takes; st_blocks counts units of 512 on every file system (stat(2)).
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

func freeSpace(dir string) space {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return space{}
	}
	return space{known: true, bytes: int64(st.Bfree) * int64(st.Bsize), nodes: st.Ffree}
}
