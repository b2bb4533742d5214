//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// fileNumber is the number of a file, which a file that replaces it does not have.
func fileNumber(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
