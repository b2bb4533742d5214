//go:build unix

package embedded

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// applyLimits sets the resource limits of this process.
func applyLimits(l rlimits) error {
	for which, value := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_CPU: l.CPU, unix.RLIMIT_NOFILE: l.Files, unix.RLIMIT_FSIZE: l.FileSize} {
		if value == 0 && which != unix.RLIMIT_CORE {
			continue
		}
		var old syscall.Rlimit
		if err := syscall.Getrlimit(which, &old); err != nil {
			return fmt.Errorf("limit %d: %w", which, err)
		}
		setRlimit(&old, value)
		if err := syscall.Setrlimit(which, &old); err != nil {
			return fmt.Errorf("limit %d: %w", which, err)
		}
	}
	return nil
}
