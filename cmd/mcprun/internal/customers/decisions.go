package customers

import (
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// Decisions returns what was decided in a run without a customer, without secrets and personal data.
func Decisions(p *project.Project, run *customer.Run) *customer.Run {
	return run.Decisions(logMask(p.Upstreams))
}
