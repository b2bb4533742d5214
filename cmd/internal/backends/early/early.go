// Package early runs the first process of each sandbox, which is this program started again. Every run waits for that process,
// which needs little of the program, so it begins before the other packages are initialised. Go initialises packages in the order
// of their import paths, imports first, and the JSON Schema library alone takes some milliseconds.
package early

import (
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
)

func init() { // in such a process, one of these calls does not return
	process.Init()
	gvisor.Init()
	embedded.Child()
}
