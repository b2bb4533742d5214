// Package early is the main function of sandboxes' own first processes, which are this program started again. They need
// little of it, and every run waits for them. An init function comes before those of packages that it does not import
// and that are behind it in the order of import paths; the JSON Schema library alone takes some milliseconds there.
package early

import (
	"os"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
)

// Caretaker is argv[0] of a process that waits for the end of its host, and then takes care of what that has left. It waits
// here, because until then it needs next to nothing. Its standard input ends with its host, or has NotNeeded before that.
const Caretaker = "mcprun-caretaker"

// NotNeeded ends a caretaker.
const NotNeeded = 'q'

func init() { // none of these returns in such a process, but for a caretaker that is needed
	process.Init()
	gvisor.Init()
	embedded.Child()
	if len(os.Args) == 2 && os.Args[0] == Caretaker {
		if n, _ := os.Stdin.Read(make([]byte, 1)); n > 0 {
			os.Exit(0)
		}
	}
}
