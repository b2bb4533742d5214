// Command mcprun runs scripts that call MCP tools in a sandbox: once, as a daemon that keeps sandboxes ready, or as an MCP
// server for agents.
package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/approvals"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/audits"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/caches"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/daemon"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/doctor"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/forms"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/image"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/models"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/network"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/packages"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/plugins"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/policies"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/schedules"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/serve"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/shapes"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/tools"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/workflows"
	"github.com/mcpgen/mcpgen/gen/exit"
)

func main() {
	backends.RunChild() // does not return in a sandbox's own first process
	cli.Main(cli.Program{
		Name: "mcprun", FailCode: exit.Runner,
		Command: func(app *cli.App) *cobra.Command { return newRoot(app, resources.Cold{}) },
	})
}

const longHelp = `mcprun runs a TypeScript or Python script in a sandbox. The script imports the
wrappers that mcpgen generated; each call it makes goes to the real MCP server.
Only what the script prints leaves the sandbox.

The exit code is the script's own, or: 124 the time limit was reached, 125 mcprun
failed, 126 the script was refused, 127 no suitable sandbox or interpreter,
130 interrupted, 137 killed by another limit.

Defaults for most flags can be set elsewhere: for --memory, for example, with
MCPRUN_MEMORY in the environment or memory below run: in mcpgen.yaml.
Precedence: flag, environment variable, .env, run: in mcpgen.yaml, default.`

const examplesHelp = `  mcprun report.ts                          a file; the sandbox is chosen for it
  mcprun sync.py -- --month 2026-10         with arguments for the script
  mcprun -e 'console.log(1 + 1)'            code from the command line
  mcprun --sandbox docker --json report.ts  one JSON object: output, calls, tokens
  mcprun --var top=5 report.ts              with a variable
  mcprun --customer acme report.ts          in a customer's folder, logged in a session
  mcprun --check report.ts                  type errors against the tree; nothing runs
  mcprun --dry-run --trace sync.py          read only, and show the calls as a waterfall
  mcprun doctor                             which sandboxes work here`

// newRoot builds the command line. The root command runs a script, so that `mcprun script.ts` needs no verb.
func newRoot(app *cli.App, at resources.Provider) *cobra.Command {
	root := run.NewCommand(app, at, "mcprun [run] SCRIPT [-- ARGS...]", "Run a script that calls MCP tools, in a sandbox")
	root.Long, root.Example = longHelp, examplesHelp
	cli.ShowVersion(app, root)
	root.AddCommand(
		run.NewCommand(app, at, "run SCRIPT [-- ARGS...]", "Run a script; the word run may be left out"),
		run.NewPlanCommand(app, at),
		run.NewTaskCommand(app, at),
		run.NewCallCommand(app, at),
		run.NewCheckCommand(app, at),
		approvals.NewCommand(app),
		forms.NewCommand(app, at),
		audits.NewCommand(app),
		customers.NewSessionCommand(app, run.NewResumeCommand(app, at)),
		customers.NewCommand(app),
		customers.NewStatsCommand(app),
		customers.NewPIICommand(app),
		skills.NewCommand(app, at),
		policies.NewCommand(app, at),
		network.NewCommand(app, at),
		packages.NewCommand(app, at),
		models.NewCommand(app, at),
		plugins.NewCommand(app, at),
		doctor.NewCommand(app),
		image.NewCommand(app),
		tools.NewCommand(app),
		daemon.NewCommand(app, newRoot, schedules.NewProjects),
		serve.NewCommand(app),
		schedules.NewCommand(app, at),
		workflows.NewCommand(app, at),
		shapes.NewCommand(app),
		caches.NewCommand(app),
		newVersionCmd(app),
	)
	return root
}

func newVersionCmd(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(app.Stdout, "mcprun", cli.Version())
			return err
		},
	}
}
