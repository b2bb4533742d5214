package audits

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/audit/report"
	"github.com/mcpgen/mcpgen/runner/store"
)

type reportCommand struct {
	recordCommand
	period
	outputFlag
	filter report.Filter
	format string
	verify bool
}

func newReportCmd(app *cli.App) *cobra.Command {
	o := &reportCommand{recordCommand: recordCommand{app: app}, format: "text"}
	cmd := &cobra.Command{
		Use: "report", Short: "Sum up a period: executions, risks, violations, calls, approvals, network",
		Long: `Sums up a period: executions by risk, customer and user, those with violations, of high risk, and those
that failed, their mean duration and tokens, calls by tool, approvals and how long they took, hosts that
were reached or refused, personal data, changes of policy and tree, and whether the record is intact.
Executions belong to the period in which they began. The HTML page loads nothing, and prints well.`,
		Example: `  mcprun audit report --from 30d
  mcprun audit report --from 2026-11-01 --to 2026-11-30 --format html -o november.html
  mcprun audit report --from 7d --customer acme --format json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.recordCommand.bind(cmd.Flags())
	o.period.bind(cmd.Flags())
	o.outputFlag.bind(cmd.Flags())
	bindWho(cmd, &o.filter)
	cmd.Flags().Var(flags.Choice(&o.format, "text", "json", "csv", "html"), "format", "form of the report")
	cmd.Flags().BoolVar(&o.verify, "verify", true, "verify the whole record, as mcprun audit verify does")
	return cmd
}

// verified says whether the record is intact, as mcprun audit verify does.
func (o *reportCommand) verified(cmd *cobra.Command, rec store.Record) (text string, intact bool, err error) {
	v, with, err := (&verifyCommand{recordCommand: o.recordCommand}).verify(cmd, rec)
	switch {
	case err != nil:
		return "", false, err
	case v.Finding != nil:
		return "CHANGED: " + v.Finding.String(), false, nil
	case v.Rows == 0:
		return "empty", true, nil
	}
	upTo := func(what string, rows int64) {
		if rows == 0 {
			text += fmt.Sprintf("; no row is %s", what)
		} else {
			text += fmt.Sprintf("; %s up to row %d", what, rows-1)
		}
	}
	text = fmt.Sprintf("verified up to row %d, head %s", v.Rows-1, v.Root)
	upTo("signed", v.Signed)
	switch {
	case v.Signed == 0:
	case len(with.Keys) == 0:
		text += ", with a key that was not verified"
	default:
		text += " by " + keyNames(with.Keys)
	}
	upTo("covered by the head beside the key", v.Kept)
	if with.published == "" {
		return text + "; heads are not published", true, nil
	}
	upTo("published", v.Published)
	return text, true, nil
}

func (o *reportCommand) run(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	rec, err := o.openRecord(cmd)
	if err != nil {
		return err
	}
	defer rec.Close()
	o.filter.From, o.filter.To = o.from, o.to
	opt := report.Options{Filter: o.filter, Now: now(), Zone: time.Local}
	if o.verify {
		opt.Verified = func(context.Context) (string, bool, error) { return o.verified(cmd, rec) }
	}
	r, err := report.Make(cmd.Context(), rec, opt)
	if err != nil {
		return err
	}
	return o.write(o.app, func(w io.Writer) error {
		switch o.format {
		case "json":
			app := *o.app
			app.Stdout = w
			return app.JSON(r)
		case "csv":
			return r.CSV(w)
		case "html":
			return r.HTML(w)
		}
		return o.text(w, r)
	})
}

// text prints the report for a terminal.
func (o *reportCommand) text(w io.Writer, r *report.Report) error {
	app := *o.app
	app.Stdout, app.Terminal.Columns = w, o.app.Columns()
	style := o.app.OutStyle()
	if o.path != "" {
		app.Terminal.Columns, style = 0, cli.Style{}
	}
	record := cli.EscapeLine(r.Record)
	if r.RecordChanged {
		record = style.Red(record)
	}
	fmt.Fprintf(w, "%s\nrecord: %s\n\n", style.Bold(r.Title()), record)
	var rows [][]string
	for _, f := range r.Figures() {
		rows = append(rows, []string{f.Name, r.Cell(f.Value)})
	}
	if err := cli.Table(w, style, nil, rows); err != nil {
		return err
	}
	if r.Removed > 0 {
		fmt.Fprintf(w, "%d more runs are not counted, because their contents were removed\n", r.Removed)
	}
	for _, t := range r.Tables() {
		fmt.Fprintf(w, "\n%s\n", style.Bold(t.Title))
		if t.Note != "" {
			fmt.Fprintln(w, t.Note)
		}
		rows := make([][]string, len(t.Rows))
		for i, row := range t.Rows {
			for _, cell := range row {
				rows[i] = append(rows[i], r.Cell(cell))
			}
		}
		if err := app.Table(t.Head, rows); err != nil {
			return err
		}
	}
	return nil
}
