//go:build unix

package embedded

import (
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// rlimits are those a process can set on itself everywhere.
type rlimits struct{ CPU, Files, FileSize uint64 }

func encodeLimits(l sandbox.Limits) string {
	b, _ := json.Marshal(rlimits{ // three integers: cannot fail
		CPU:   uint64((l.CPU + time.Second - 1) / time.Second),
		Files: uint64(l.Files), FileSize: uint64(l.FileSize),
	})
	return string(b)
}

func applyLimits(text string) error {
	var l rlimits
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return fmt.Errorf("read the limits: %w", err)
	}
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
