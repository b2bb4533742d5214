//go:build unix && !freebsd && !dragonfly

package embedded

import "syscall"

// setRlimit lowers both limits to value; raising one is neither wanted nor allowed.
func setRlimit(l *syscall.Rlimit, value uint64) {
	l.Max = min(l.Max, value)
	l.Cur = l.Max
}
