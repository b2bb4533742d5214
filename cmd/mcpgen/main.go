// Command mcpgen generates a tree of typed TypeScript and Python wrappers from the MCP servers in a project's configuration.
package main

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/script"
)

// softMemory is the memory limit of the garbage collector, in bytes. A sync of 10,000 tools stays below it. GOMEMLIMIT overrides it.
const softMemory = 400 << 20

func main() {
	script.Child() // does not return in a process that bundles scripts
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(softMemory)
	}
	cli.Main(cli.Program{Name: "mcpgen", Command: newRootCmd})
}

func newRootCmd(app *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpgen",
		Short: "Generate typed TypeScript and Python wrappers for MCP servers",
		Long: `mcpgen asks the MCP servers of a project for their tools and writes a typed wrapper for each, in TypeScript and Python, to
a folder that agents read and scripts import. Commit the folder: its diff shows what a server changed. mcprun runs scripts
that use the wrappers.

Servers are read from --config, else $MCPGEN_CONFIG, else the nearest list in the working directory or above it, up to the
root of the git repository: the file that config in mcpgen.yaml names, mcpgen.json, or .mcp.json. Settings are read from
mcpgen.yaml beside it.

Exit codes: 0 success, 1 the tree is out of date (sync --check, --diff) or a server differs from the lock (sync --frozen),
2 usage, configuration or files, 3 a server could not be asked for its tools, 4 a tool could not be generated or a text is
suspicious (sync --strict), 130 interrupted.`,
		Example: `  mcpgen init             # once, in a new project
  mcpgen sync             # write or refresh servers/
  mcpgen sync --check     # in CI: fail when a server has changed
  mcpgen list             # what is there
  mcpgen search weather   # which tool is for that?
  mcpgen show get_sheet   # one tool`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cli.ShowVersion(app, root)
	root.AddCommand(newInitCmd(app), newSyncCmd(app), newLoginCmd(app), newLogoutCmd(app), newListCmd(app), newShowCmd(app), newSearchCmd(app), newTokensCmd(app), newTypesCmd(app), newLearnCmd(app), newTrustCmd(app), newRegistryCmd(app), newVersionCmd(app))
	return root
}

func newVersionCmd(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  mcpgen version",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(app.Stdout, "mcpgen", cli.Version())
			return err
		},
	}
}
