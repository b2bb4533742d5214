// Package early runs the first process of each sandbox, which is this program re-executed. It needs little of the program,
// and every run waits for it. An init function comes before those of packages that it does not import
// and that are behind it in the order of import paths; the JSON Schema library alone takes some milliseconds there.
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
