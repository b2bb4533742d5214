// Command mcpgen makes a tree of typed TypeScript and Python wrappers from the MCP servers a project is configured
// with.
package main

import (
	"math"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/script"
)

// softMemory is what the garbage collector tries to stay below, in bytes: a sync of 10,000 tools fits. GOMEMLIMIT goes
// before it.
const softMemory = 400 << 20

func main() {
	script.Child() // does not return in a process that bundles scripts
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(softMemory)
	}
	cli.Main(cli.Program{Name: "mcpgen", Command: newRootCmd})
}
