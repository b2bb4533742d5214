package workflows

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
)

// newGraphCommand returns the command workflow graph.
func newGraphCommand(app *cli.App) *cobra.Command {
	o := &documents{app: app}
	return &cobra.Command{
		Use: "graph FILE", Short: "Print a workflow document as a flowchart of Mermaid",
		Long: `graph prints a flowchart in the language of Mermaid, which code hosts and many editors
show. It needs neither a tree nor a configuration.`,
		Example: "  mcprun workflow graph lead-routing.workflow.yaml > lead-routing.mmd",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := run.ReadDocument(app, args[0])
			if err != nil {
				return o.failed(err)
			}
			_, err = fmt.Fprint(app.Stdout, d.Graph())
			return err
		},
	}
}
