package customers

import (
	"fmt"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// OpenDecisions opens the log of decisions in runs without a customer, for the project in the folder base. Secrets of the
// upstreams are masked. workspace is the folder that scripts may write to, or ""; it must not contain the log.
func OpenDecisions(app *cli.App, base string, upstreams chain.Upstreams, workspace string) (*customer.Decisions, error) {
	state, err := app.StateDir()
	if err != nil {
		return nil, fmt.Errorf("find the log of decisions: %w", err)
	}
	dir := filepath.Join(state, "decisions")
	if workspace != "" && project.IsBelow(dir, workspace) {
		return nil, fmt.Errorf("the log of decisions would be in the workspace %q, where scripts could change it: nothing is logged", workspace)
	}
	return customer.OpenDecisions(filepath.Join(dir, cli.ProjectName(base)+".jsonl"), logMask(upstreams)), nil
}

// KeepDecisions logs what was decided in a run without a customer. A failure to log does not change the run's result; it is printed.
func KeepDecisions(app *cli.App, p *project.Project, workspace string, run *customer.Run, warn func(line string)) {
	if !run.Decided() {
		return
	}
	log, err := OpenDecisions(app, p.Base, p.Upstreams, workspace)
	if err == nil {
		err = log.Append(run)
	}
	if err != nil {
		warn(cli.EscapeLine(err.Error()))
	}
}
