//go:build !linux && !darwin

package taint

import (
	"io/fs"
	"time"
)

// times returns the time at which the content of a file was changed. What a run wrote is labelled at its end regardless of these times.
func times(info fs.FileInfo) []time.Time { return []time.Time{info.ModTime()} }
