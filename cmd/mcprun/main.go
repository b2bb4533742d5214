// Command mcprun runs scripts that call MCP tools, in a sandbox.
package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
)

func main() {
	backends.RunChild() // does not return in a sandbox's own first process
	cli.Main(cli.Program{
		Name: "mcprun", FailCode: runner.ExitRunner,
		Command: func(app *cli.App) *cobra.Command { return newRoot(app, cold{}) },
	})
}
