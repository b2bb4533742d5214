//go:build unix

package embedded

import (
	"os"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// guard does nothing: the child sets its other limits itself, and the engine bounds its own memory.
func guard(*os.Process, sandbox.Limits) (stop func() int64, err error) {
	return func() int64 { return 0 }, nil
}
