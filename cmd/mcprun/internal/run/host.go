package run

import (
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Host is the runner and the sandboxes of a run.
type Host struct {
	Runner   *runner.Runner
	backends []sandbox.Backend
}
