//go:build unix && !linux

package embedded

import "syscall"

func plainAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// watchMemory has no cheap way to look into another process here; the engine's own limit holds alone.
func watchMemory(int, int64, func()) (stop func() int64) { return func() int64 { return 0 } }
