//go:build !linux && !darwin

package taint

import (
	"io/fs"
	"time"
)

// times returns when the content of a file was changed. What a run wrote is labelled at its end whatever the times of files say.
func times(info fs.FileInfo) []time.Time { return []time.Time{info.ModTime()} }
