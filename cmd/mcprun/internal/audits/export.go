package audits

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/audit/report"
)

type exportCommand struct {
	recordCommand
	period
	outputFlag
	format string
}

func newExportCmd(app *cli.App) *cobra.Command {
	o := &exportCommand{recordCommand: recordCommand{app: app}, format: "jsonl"}
	cmd := &cobra.Command{
		Use: "export", Short: "Write the record for another program",
		Long: `Writes the record of a period: as jsonl, each row as it is hashed; as csv, a line for each run, which no
spreadsheet takes for a formula; as sep3004, runs, calls and connections as audit records of SEP-3004 in
one JSON object, with a chain of hashes that is made for the export.`,
		Example: `  mcprun audit export --from 7d -o rows.jsonl
  mcprun audit export --format csv --from 2026-11-01 --to 2026-11-30 -o runs.csv
  mcprun audit export --format sep3004 -o records.json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.recordCommand.bind(cmd.Flags())
	o.period.bind(cmd.Flags())
	o.outputFlag.bind(cmd.Flags())
	cmd.Flags().Var(flags.Choice(&o.format, "jsonl", "csv", "sep3004"), "format", "format of the export")
	return cmd
}

func (o *exportCommand) run(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	rec, err := o.openRecord(cmd)
	if err != nil {
		return err
	}
	defer rec.Close()
	ctx := cmd.Context()
	return o.write(o.app, func(w io.Writer) error {
		switch o.format {
		case "csv":
			return report.RunsCSV(ctx, rec, report.Filter{From: o.from, To: o.to, Code: true}, w)
		case "sep3004":
			return report.Contract(ctx, rec, o.from, o.to, w)
		}
		return report.JSONL(ctx, rec, o.from, o.to, w)
	})
}
