//go:build unix && !linux

package embedded

import (
	"os"
	"syscall"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func plainAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// guard has no cheap way to look into another process here: for memory the engine's own limit holds alone.
func guard(*os.Process, sandbox.Limits, func(string)) (stop func() int64, err error) {
	return func() int64 { return 0 }, nil
}
