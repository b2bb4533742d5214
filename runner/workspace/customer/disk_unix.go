//go:build unix

package customer

import (
	"io/fs"
	"syscall"
)

// onDisk returns the disk space of a file in bytes. st_blocks counts units of 512 bytes on every file system (stat(2)).
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
