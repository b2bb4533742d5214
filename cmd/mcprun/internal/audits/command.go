// Package audits has the commands that read the record: what was run, called, decided and approved.
package audits

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

const help = `Reads the record: what was run, called, decided and approved, when, and for whom. mcprun serve and
runs with --customer are recorded, and others with --audit. Personal data is in the record as tokens.

A run or call that has begun and has no end in the record is "unknown": mcprun died, or it is still
going on. Times are shown in your time zone, and in JSON and CSV in UTC.`

// NewCommand returns the command audit.
func NewCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Look up and report what was run, called and decided",
		Long: help,
		Example: `  mcprun audit list --from 24h --failed
  mcprun audit show run-4KXQ2M7ZB3TA
  mcprun audit report --from 2026-11-01 --to 2026-11-30 --format html -o november.html
  mcprun audit export --format csv -o runs.csv`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newListCmd(app), newShowCmd(app), newReportCmd(app), newExportCmd(app), newVerifyCmd(app), newProveCmd(app), newCheckProofCmd(app), newKeyCmd(app))
	return cmd
}

// now is the time in the user's zone.
func now() time.Time { return time.Now() }
