package taint

import (
	"io/fs"
	"syscall"
	"time"
)

// times returns the times at which the content of a file and the file itself were changed. A script can set the first one.
func times(info fs.FileInfo) []time.Time {
	out := []time.Time{info.ModTime()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		out = append(out, time.Unix(s.Ctim.Unix()))
	}
	return out
}
