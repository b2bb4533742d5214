package audits

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/audit/report"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/store"
)

const usualLimit = 50

type listCommand struct {
	recordCommand
	period
	filter report.Filter
	kind   string
	json   bool
}

func newListCmd(app *cli.App) *cobra.Command {
	o := &listCommand{recordCommand: recordCommand{app: app}, filter: report.Filter{Limit: usualLimit}, kind: string(audit.KindRun)}
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, or rows of another kind, the latest first",
		Long: `Lists runs, the latest first. With --kind it lists rows of another kind: calls, approvals, connections
and so on; ROW is their place in the record.`,
		Example: `  mcprun audit list --from 24h
  mcprun audit list --customer acme --failed
  mcprun audit list --risk critical --json
  mcprun audit list --kind call --changes --from 24h`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.recordCommand.bind(cmd.Flags())
	o.period.bind(cmd.Flags())
	kinds := []string{string(audit.KindRun)}
	for _, k := range report.EventKinds {
		kinds = append(kinds, string(k))
	}
	f := cmd.Flags()
	bindWho(cmd, &o.filter)
	f.Var(flags.Choice(&o.filter.Risk, risks()...), "risk", "runs of this risk only")
	f.BoolVar(&o.filter.Failed, "failed", false, "runs or calls that did not succeed only: failed, refused and unknown ones")
	f.BoolVar(&o.filter.Changes, "changes", false, "calls that may have changed something only, or runs that made one")
	f.BoolVar(&o.filter.Violations, "violations", false, "runs that broke a rule only")
	f.StringVar(&o.filter.Tool, "tool", "", "runs that called this tool only, or calls and approvals of it")
	f.Var(flags.Choice(&o.kind, kinds...), "kind", "what to list")
	f.Var(flags.Count(&o.filter.Limit, 1), "limit", "list at most this many")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// bindWho adds the flags that select by whom something was done for.
func bindWho(cmd *cobra.Command, filter *report.Filter) {
	f := cmd.Flags()
	f.StringVar(&filter.Customer, "customer", "", "this customer only")
	f.StringVar(&filter.Session, "session", "", "this session only")
	f.StringVar(&filter.User, "user", "", "this user of the operating system only")
}

func risks() (names []string) {
	for _, r := range risk.All() {
		names = append(names, r.String())
	}
	return names
}

func (o *listCommand) run(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	kind := audit.Kind(o.kind)
	if kind != audit.KindRun && (o.filter.Risk != "" || o.filter.Violations) {
		return cli.Usage(cmd, "--risk and --violations select runs, and --kind %s lists something else", o.kind)
	}
	if o.filter.Changes && kind != audit.KindRun && kind != audit.KindCall {
		return cli.Usage(cmd, "--changes selects runs and calls, and --kind %s lists something else", o.kind)
	}
	if about := []audit.Kind{audit.KindRun, audit.KindCall, audit.KindApproval}; o.filter.Tool != "" && !slices.Contains(about, kind) {
		return cli.Usage(cmd, "--tool selects runs, calls and approvals, and --kind %s lists something else", o.kind)
	}
	if about := []audit.Kind{audit.KindRun, audit.KindCall, audit.KindConnection}; o.filter.Failed && !slices.Contains(about, kind) {
		return cli.Usage(cmd, "--failed selects runs, calls and connections, and --kind %s lists something else", o.kind)
	}
	o.filter.From, o.filter.To, o.filter.Code = o.from, o.to, o.json
	rec, err := o.openRecord(cmd)
	if err != nil {
		return err
	}
	defer rec.Close()
	if kind != audit.KindRun {
		return o.events(cmd.Context(), rec, kind)
	}
	runs, err := report.List(cmd.Context(), rec, o.filter)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(map[string]any{"runs": runs})
	}
	if len(runs) == 0 {
		return o.none("runs")
	}
	narrow := narrow(o.app)
	header := []string{"TIME", "RUN", "RISK", "OUTCOME", "CALLS", "TOOK", "SCRIPT"}
	var rows [][]string
	for _, r := range runs {
		row := []string{shortTime(r.Time, narrow), r.ID, cmp.Or(string(r.Risk), "-"), r.Outcome, "-", "-", what(r)}
		if r.CallCount != nil {
			row[4] = fmt.Sprint(*r.CallCount)
		}
		if r.DurationMS != nil {
			row[5] = report.Millis(*r.DurationMS)
		}
		rows = append(rows, row)
	}
	if narrow { // the script and its customer say more
		header = slices.Delete(header, 4, 5)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 4, 5)
		}
	}
	if o.filter.Failed || o.filter.Violations {
		header = append(header, "WHY")
		for i, r := range runs {
			rows[i] = append(rows[i], cmp.Or(strings.Join(r.Violations, "; "), string(r.Error), "-"))
		}
	}
	if err := o.app.Table(header, rows); err != nil {
		return err
	}
	return o.more(len(runs))
}

// what names a run's script, and whom it was run for.
func what(r *report.Run) string {
	text := cmp.Or(string(r.Name), string(r.Language), "?")
	if r.Action != "execute_code" && r.Action != "" {
		text = string(r.Action) + " " + text
	}
	if who := forWhom(&r.Who); who != "" {
		text += " for " + who
	}
	return text
}

// forWhom returns customer and session.
func forWhom(w *audit.Who) string {
	return strings.Trim(string(w.Customer)+"/"+string(w.Session), "/")
}

func (o *listCommand) events(ctx context.Context, rec store.Record, kind audit.Kind) error {
	events, err := report.Events(ctx, rec, kind, o.filter)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(map[string]any{"rows": events})
	}
	if len(events) == 0 {
		return o.none("rows of kind " + o.kind)
	}
	header := []string{"ROW", "TIME", "RUN", "FOR", "WHAT"}
	if kind == audit.KindCall {
		header = []string{"ROW", "TIME", "RUN", "FOR", "DOES", "WHAT", "ARGUMENTS"}
	}
	var rows [][]string
	for _, e := range events {
		row := []string{fmt.Sprint(e.Row), shortTime(e.Time, narrow(o.app)), cmp.Or(string(e.Run), "-"), cmp.Or(forWhom(&e.Who), string(e.User), "-")}
		switch {
		case e.Call != nil:
			row = append(row, dash(e.Call.Hint), e.Text, string(e.Call.Arguments))
		case kind == audit.KindCall:
			row = append(row, "-", e.Text, "")
		default:
			row = append(row, e.Text)
		}
		rows = append(rows, row)
	}
	if err := o.app.Table(header, rows); err != nil {
		return err
	}
	return o.more(len(events))
}

func (o *listCommand) none(what string) error {
	_, err := fmt.Fprintf(o.app.Stdout, "no such %s\n", what)
	return err
}

// more says that the list may not be complete.
func (o *listCommand) more(n int) error {
	if n < o.filter.Limit {
		return nil
	}
	_, err := fmt.Fprintf(o.app.Stderr, "the latest %d; --limit shows more\n", n)
	return err
}

// narrow reports whether the terminal has no room for all columns.
func narrow(app *cli.App) bool { return app.Columns() > 0 && app.Columns() < 90 }

// shortTime writes a time in the user's zone, with the year if it is not this one.
func shortTime(t time.Time, narrow bool) string {
	switch t = t.Local(); {
	case t.Year() != now().Year():
		return t.Format("2006-01-02 15:04")
	case narrow:
		return t.Format("01-02 15:04")
	}
	return t.Format("01-02 15:04:05")
}
