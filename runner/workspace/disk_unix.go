//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// openCalmly keeps an open from waiting for the other end of what a script put in the place of a file.
const openCalmly = syscall.O_NONBLOCK

// onDisk is what a file takes, in bytes; st_blocks counts units of 512 whatever the file system's own are (stat(2)).
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
