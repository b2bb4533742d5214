package taint

import (
	"io/fs"
	"syscall"
	"time"
)

// times returns when the content of a file and when the file was changed. A script can set the first.
func times(info fs.FileInfo) []time.Time {
	out := []time.Time{info.ModTime()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		out = append(out, time.Unix(s.Ctimespec.Unix()))
	}
	return out
}
