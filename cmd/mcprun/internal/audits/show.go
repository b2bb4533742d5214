package audits

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/audit/report"
	"github.com/mcpgen/mcpgen/runner/store"
)

type showCommand struct {
	recordCommand
	code, json bool
}

func newShowCmd(app *cli.App) *cobra.Command {
	o := &showCommand{recordCommand: recordCommand{app: app}}
	cmd := &cobra.Command{
		Use: "show RUN|ROW", Short: "Show everything the record has about a run, or one row",
		Long: `Shows everything that the record has about a run: whom it was for, its code by digest, its input, what
was decided and by whom, each call with its rule and outcome, approvals, connections, and the result.
With --json, what is not known is null.

With the number of a row, it shows that row: of a change of settings, the difference.`,
		Example: "  mcprun audit show run-4KXQ2M7ZB3TA\n  mcprun audit show run-4KXQ2M7ZB3TA --code\n  mcprun audit show run-4KXQ2M7ZB3TA --json\n  mcprun audit show 17",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.bind(cmd.Flags())
	f := cmd.Flags()
	f.BoolVar(&o.code, "code", false, "show the script, and output and result as a whole")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func (o *showCommand) run(cmd *cobra.Command, id string) error {
	rec, err := o.openRecord(cmd)
	if err != nil {
		return err
	}
	defer rec.Close()
	if index, err := strconv.ParseInt(id, 10, 64); err == nil {
		return o.row(cmd.Context(), rec, index)
	}
	d, err := report.Show(cmd.Context(), rec, id)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(d)
	}
	var out bytes.Buffer
	if err := o.print(&out, d); err != nil {
		return err
	}
	_, err = out.WriteTo(o.app.Stdout)
	return err
}

// row prints one row.
func (o *showCommand) row(ctx context.Context, rec store.Store, index int64) error {
	d, err := report.ShowRow(ctx, rec, index)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(d)
	}
	style := o.app.OutStyle()
	fmt.Fprintln(o.app.Stdout, style.Bold(fmt.Sprint("row ", d.Row)), d.Kind)
	facts := [][]string{
		{"  time", d.Time.Local().Format("2006-01-02 15:04:05 MST")}, {"  run", dash(d.Run)}, {"  user", dash(d.User)}, {"  customer", dash(d.Customer)},
		{"  session", dash(d.Session)}, {"  client", dash(d.Client)}, {"  what", d.Text},
	}
	if err := cli.Table(o.app.Stdout, style, nil, facts); err != nil {
		return err
	}
	if d.Diff != "" {
		o.text(o.app.Stdout, "Difference", d.Diff)
	} else {
		o.text(o.app.Stdout, "Body", indented(d.Body))
	}
	return nil
}

func (o *showCommand) print(w *bytes.Buffer, d *report.Detail) error {
	style := o.app.OutStyle()
	fmt.Fprintln(w, style.Bold(cli.EscapeLine(d.ID)), cli.EscapeLine(string(d.Name)))
	if err := cli.Table(w, style, nil, o.facts(d)); err != nil {
		return err
	}
	parts := []struct {
		title  string
		header []string
		rows   [][]string
	}{
		{"Calls", []string{"#", "TOOL", "DOES", "OUTCOME", "TOOK", "DECISION", "ARGUMENTS"}, callRows(d.Calls)},
		{"Approvals", []string{"TIME", "OF", "ANSWER", "BY", "AFTER", "RULE"}, nil},
		{"Connections", []string{"TIME", "CONNECTION"}, nil},
	}
	if narrow(o.app) { // decisions say more
		calls := &parts[0]
		calls.header = calls.header[:6]
		for i := range calls.rows {
			calls.rows[i] = calls.rows[i][:6]
		}
	}
	for _, a := range d.Approvals {
		parts[1].rows = append(parts[1].rows, []string{clock(a.Time), strings.TrimSpace(a.Subject + " " + string(a.Tool)), a.Answer, dash(a.By), report.Millis(a.WaitMS), dash(a.Rule)})
	}
	for i := range d.Connections {
		parts[2].rows = append(parts[2].rows, []string{clock(d.Connections[i].Time), report.Connection(&d.Connections[i])})
	}
	for _, p := range parts {
		if len(p.rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", style.Bold(p.title))
		if err := o.table(w, p.header, p.rows); err != nil {
			return err
		}
	}
	if o.code {
		o.text(w, "Code", string(d.Code))
		for _, m := range d.Modules {
			o.text(w, cli.EscapeLine(m.Name), string(m.Code))
		}
		o.text(w, "Output"+ofBytes(d.OutputHash, d.OutputBytes), string(d.Output))
		o.text(w, "Standard error"+ofBytes(d.StderrHash, d.StderrBytes), string(d.Stderr))
		o.text(w, "Result", indented(d.Result))
	}
	return nil
}

// table prints a table in which the last column is cut at the terminal's width.
func (o *showCommand) table(w io.Writer, header []string, rows [][]string) error {
	app := *o.app
	app.Stdout, app.Terminal.Columns = w, o.app.Columns()
	return app.Table(header, rows)
}

func callRows(calls []report.Call) (rows [][]string) {
	for i := range calls {
		c := &calls[i]
		took := "-"
		if c.DurationMS != nil {
			took = report.Millis(*c.DurationMS)
		}
		outcome := c.Outcome
		if c.Cached {
			outcome += " (cached)"
		}
		rows = append(rows, []string{fmt.Sprint(c.Call), c.Tool, dash(c.Hint), outcome, took, cmp.Or(cli.Shorten(cli.EscapeLine(c.Decision()), 80), "-"), string(c.Arguments)})
	}
	return rows
}

const shortText = 200 // of an output or a result, in characters

// facts returns what there is to say about the run itself.
func (o *showCommand) facts(d *report.Detail) (rows [][]string) {
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, []string{"  " + name, text})
		}
	}
	add("began", d.Time.Local().Format("2006-01-02 15:04:05 MST"))
	add("outcome", outcome(&d.Run))
	add("error", string(d.Error))
	add("user", string(d.User))
	add("customer", string(d.Customer))
	add("session", string(d.Session))
	add("client", strings.TrimSpace(string(d.Client)+" "+string(d.ClientVersion)))
	add("model", strings.TrimSpace(string(d.Model)+" "+string(d.ModelVersion)))
	add("action", string(d.Action))
	add("code", strings.TrimSpace(string(d.Language)+" "+string(d.CodeHash)))
	for _, m := range d.Modules {
		add("imports", m.Name+" "+m.Digest)
	}
	add("input", string(d.Input))
	add("sandbox", string(d.Sandbox))
	add("machine", strings.TrimSpace(string(d.Host)+" "+string(d.Version)))
	add("risk", strings.TrimSuffix(string(d.Risk)+": "+string(d.RiskReason), ": "))
	add("approved", approved(&d.Run))
	add("violations", strings.Join(d.Violations, "; "))
	if d.TokensUsed != nil {
		text := fmt.Sprintf("%d used", *d.TokensUsed)
		if d.TokensSaved != nil {
			text += fmt.Sprintf(", %d saved", *d.TokensSaved)
		}
		add("tokens", text)
	}
	add("files", strings.Join(d.Files, ", "))
	add("pii", string(d.PII))
	add("personal", report.Left(d.Personal, d.Clear))
	if !o.code {
		add("result", cli.Shorten(string(d.Result), shortText))
		add("output", cli.Shorten(cli.EscapeLine(strings.TrimSpace(string(d.Output))), shortText))
		add("stderr", cli.Shorten(cli.EscapeLine(strings.TrimSpace(string(d.Stderr))), shortText))
	}
	if n := len(d.Rows); n > 0 {
		add("rows", fmt.Sprintf("%d, from %d to %d", n, d.Rows[0], d.Rows[n-1]))
	}
	if d.Removed > 0 {
		add("removed", cli.Count(d.Removed, "row")+" lost their contents to retention")
	}
	return rows
}

func outcome(r *report.Run) string {
	text := r.Outcome
	if r.Outcome == report.Unknown {
		return "unknown: the record has no end of it"
	}
	if r.Success != nil && !*r.Success {
		text += fmt.Sprintf(" (%s, exit code %d)", r.Cause, *r.ExitCode)
	}
	if r.DurationMS != nil {
		text += ", after " + report.Millis(*r.DurationMS)
	}
	return text
}

func approved(r *report.Run) string {
	switch {
	case r.Approved == nil:
		return ""
	case !*r.Approved:
		return "no" + rule(r)
	case *r.AutoApproved:
		return "yes, nobody was asked" + rule(r)
	}
	return "yes, by " + cmp.Or(string(r.By), "somebody") + rule(r)
}

func rule(r *report.Run) string {
	if r.Rule == "" {
		return ""
	}
	return "; " + string(r.Rule)
}

// ofBytes says how much of an output stream is not kept. Only a stream with a hash is cut.
func ofBytes(hash audit.Text, size *int) string {
	if hash == "" {
		return ""
	}
	return fmt.Sprintf(", the end of %d bytes with the SHA-256 %s", *size, hash)
}

func (o *showCommand) text(w io.Writer, title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(w, "\n%s\n%s\n", o.app.OutStyle().Bold(title), strings.TrimRight(cli.Escape(text), "\n"))
}

func indented(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return string(v)
	}
	return b.String()
}

func clock(t time.Time) string { return t.Local().Format("15:04:05") }

func dash(text audit.Text) string { return cmp.Or(string(text), "-") }
