//go:build unix && !freebsd && !dragonfly

package embedded

import "syscall"

// setRlimit lowers the soft and the hard limit to value. It never raises one.
func setRlimit(l *syscall.Rlimit, value uint64) {
	l.Max = min(l.Max, value)
	l.Cur = l.Max
}
