// Package early runs the first process of each sandbox, which is this program started again. Every run waits for that process,
// and it needs little of the program, so it has to begin before the rest is initialised: packages are initialised in the order
// of their import paths, imports first, and the JSON Schema library alone takes some milliseconds.
package early

import (
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
)

func init() { // none of these returns in such a process
	process.Init()
	gvisor.Init()
	embedded.Child()
}
