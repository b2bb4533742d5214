package customers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// NewSessionCommand returns the command session, with resume among its commands.
func NewSessionCommand(app *cli.App, resume *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: "session", Short: "List, show and resume sessions",
		Long: `A session is the log of what was done for a customer: tasks, scripts, results, calls, files,
checkpoints and tokens. A run with --customer writes it. Secrets and personal data are masked;
arguments and results of calls are left out.`,
		Example: `  mcprun session list
  mcprun session show 20261003-120000-abc123
  mcprun session resume 20261003-120000-abc123 next.ts`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionListCmd(app), newSessionShowCmd(app), resume)
	return cmd
}

type sessionCommand struct {
	customersCommand
	customer string
	code     bool
	tasks    bool
}

func newSessionListCmd(app *cli.App) *cobra.Command {
	o := &sessionCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, most recently used first",
		Example: "  mcprun session list\n  mcprun session list --customer acme",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.list(cmd) },
	}
	o.bind(cmd)
	cmd.Flags().Var(flags.ID(&o.customer, "customer", "id"), "customer", "show this customer only")
	cli.CompleteFlag(cmd, "customer", o.customers(cmd))
	return cmd
}

func (o *sessionCommand) list(cmd *cobra.Command) error {
	root, err := o.openRoot(cmd)
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := customersOf(root.Root, o.customer)
	if err != nil {
		return err
	}
	infos := []customer.SessionInfo{}
	for _, c := range list {
		info, err := c.Info(cmd.Context())
		if err != nil {
			return err
		}
		infos = append(infos, info.Sessions...)
	}
	slices.SortStableFunc(infos, func(a, b customer.SessionInfo) int {
		return cmp.Or(b.LastUsed.Compare(a.LastUsed), strings.Compare(a.Customer, b.Customer), strings.Compare(a.ID, b.ID))
	})
	if o.json {
		return o.app.JSON(map[string]any{"sessions": infos})
	}
	if len(infos) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "no sessions")
		return err
	}
	return printSessions(o.app, infos, true)
}

// customersOf returns the customer with that id, or all customers if the id is empty.
func customersOf(root *customer.Root, id string) ([]*customer.Customer, error) {
	if id == "" {
		return root.List()
	}
	c, err := root.Find(id)
	return []*customer.Customer{c}, err
}

// printSessions prints a table of sessions. Titles are cut at the terminal's width.
func printSessions(app *cli.App, infos []customer.SessionInfo, customers bool) error {
	header := []string{"SESSION", "CUSTOMER", "RUNS", "CALLS", "SAVED", "LAST USED", "TITLE"}
	var rows [][]string
	for i := range infos {
		s := &infos[i]
		rows = append(rows, []string{
			s.ID, s.Customer, fmt.Sprint(s.Stats.Runs), fmt.Sprint(s.Stats.Calls), saved(s.Stats.Tokens.Used, s.Stats.Tokens.Search), ago(time.Now(), s.LastUsed), cli.EscapeLine(s.Title),
		})
	}
	if !customers {
		header = slices.Delete(header, 1, 2)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	return app.Table(header, rows)
}

func newSessionShowCmd(app *cli.App) *cobra.Command {
	o := &sessionCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "show SESSION", Short: "Show the log of a session",
		Example: "  mcprun session show 20261003-120000-abc123\n  mcprun session show onboarding --customer acme --code",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.show(cmd, args[0]) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.Var(flags.ID(&o.customer, "customer", "id"), "customer", "the session's customer, if several customers have a session of that name")
	f.BoolVar(&o.code, "code", false, "show the scripts and their output")
	f.BoolVar(&o.tasks, "tasks", false, "show tasks with their last run, instead of the log")
	cmd.ValidArgsFunction = cli.CompleteArgs(1, o.sessions(cmd))
	cli.CompleteFlag(cmd, "customer", o.customers(cmd))
	return cmd
}

func (o *sessionCommand) show(cmd *cobra.Command, id string) error {
	root, err := o.openRoot(cmd)
	if err != nil {
		return err
	}
	defer root.Close()
	s, err := findSession(root.Root, o.customer, id)
	if err != nil {
		return err
	}
	if o.tasks {
		return o.showTasks(s)
	}
	info, err := s.Info()
	if err != nil {
		return err
	}
	records := []customer.Record{}
	bad, err := s.Read(func(r *customer.Record) error {
		records = append(records, *r)
		return cmd.Context().Err()
	})
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(map[string]any{"session": info, "records": records, "unreadable": bad})
	}
	style, w := o.app.OutStyle(), o.app.Stdout
	fmt.Fprintf(w, "%s of %s, %s, last used %s\n", style.Bold(info.ID), info.Customer, flags.Bytes(int(info.Bytes)), ago(time.Now(), info.LastUsed))
	if info.Stats.Runs > 0 {
		fmt.Fprintf(w, "%s, %s, %s\n", cli.Count(info.Stats.Runs, "run"), cli.Count(info.Stats.Calls, "call"), tokenWords(&info.Stats.Tokens))
	}
	var sums customer.Stats
	for i := range records {
		o.record(&records[i], &sums)
	}
	if bad > 0 {
		fmt.Fprintf(w, "%s %s of the log cannot be read: torn by a crash, or not mcprun's\n", style.Yellow("note:"), cli.Count(bad, "line"))
	}
	return nil
}

// showTasks prints what was done in a session, task by task.
func (o *sessionCommand) showTasks(s *customer.Session) error {
	work, err := s.Work()
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(work)
	}
	for _, t := range work.Tasks {
		text := cmp.Or(t.Description, "(no description)")
		if t.Code != "" {
			text += fmt.Sprintf(": exit code %d%s", t.ExitCode, leading(", ", t.Message))
		}
		o.item(o.app.OutStyle().Dim(t.Time.Local().Format("2006-01-02 15:04:05")), cli.EscapeLine(text))
		if o.code {
			o.block("code", t.Code)
			o.block("output", t.Output)
			o.block("result", string(t.Result))
		}
	}
	if len(work.Files) > 0 {
		o.item(strings.Repeat(" ", 19), "wrote: "+cli.EscapeLine(strings.Join(work.Files, ", ")))
	}
	if c := work.Checkpoint; c != nil {
		o.item(o.app.OutStyle().Dim(c.Time.Local().Format("2006-01-02 15:04:05")), cli.EscapeLine("checkpoint "+c.Name+leading(": ", cli.Shorten(string(c.Data), 100))))
	}
	return nil
}

func findSession(root *customer.Root, customer, id string) (*customer.Session, error) {
	if customer == "" {
		return root.FindSession(id)
	}
	c, err := root.Find(customer)
	if err != nil {
		return nil, err
	}
	return c.Session(id)
}

// record prints one line of a log. sums covers the runs before it.
func (o *sessionCommand) record(r *customer.Record, sums *customer.Stats) {
	style := o.app.OutStyle()
	at := style.Dim(r.Time.Local().Format("2006-01-02 15:04:05"))
	switch {
	case r.Run != nil:
		o.ran(at, r.Run, sums.Add(r.Time, r.Run))
	case r.Checkpoint != nil && r.Kind == customer.KindRestore:
		o.item(at, fmt.Sprintf("%s to checkpoint %s", style.Yellow("restored"), cli.EscapeLine(r.Checkpoint.Name)))
	case r.Checkpoint != nil:
		o.item(at, cli.EscapeLine(checkpointWords(r.Checkpoint)))
	case r.Kind == customer.KindSession:
		o.item(at, cli.EscapeLine("begun"+leading(": ", r.Task)))
	default:
		o.item(at, cli.EscapeLine(string(r.Kind)+leading(": ", r.Task)))
	}
}

// leading returns lead followed by text, or "" if text is empty.
func leading(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

// item prints a text after the time that it belongs to.
func (o *sessionCommand) item(at, text string) { fmt.Fprintf(o.app.Stdout, "%s  %s\n", at, text) }

func (o *sessionCommand) ran(at string, run *customer.Run, share customer.Tokens) {
	style := o.app.OutStyle()
	mark := style.Green("ran")
	if run.ExitCode != 0 || run.Cause != "exit" {
		mark = style.Red(fmt.Sprintf("ran, %s, exit code %d", cli.EscapeLine(run.Cause), run.ExitCode))
	}
	fmt.Fprintf(o.app.Stdout, "%s  %s %s, %s, %s\n", at, mark, cli.EscapeLine(cmp.Or(run.Name, run.Language)), millis(run.DurationMS), cli.Count(run.CallCount, "call"))
	rest := strings.Repeat(" ", 19)
	if run.Message != "" {
		o.item(rest, cli.EscapeLine(run.Message))
	}
	if text := callWords(run.Calls); text != "" {
		o.item(rest, "calls: "+text)
	}
	o.decisions(rest, run)
	if len(run.Files) > 0 {
		text := "wrote: " + cli.EscapeLine(strings.Join(run.Files[:min(len(run.Files), 10)], ", "))
		if more := run.FileCount - 10; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		o.item(rest, text)
	}
	if run.Tokens != nil {
		o.item(rest, tokenWords(&share))
	}
	if !o.code {
		return
	}
	o.block("code", run.Code)
	o.block("output", run.Output)
	o.block("result", string(run.Result))
}

// maxDecisions is the maximum number of a run's decisions that are shown.
const maxDecisions = 20

// decisions prints what rules and people decided, except for calls that a rule allowed without asking anybody.
func (o *sessionCommand) decisions(at string, run *customer.Run) {
	say := func(what, outcome string, d *customer.Decision) {
		o.item(at, cli.EscapeLine(fmt.Sprintf("%s: %s (%s)%s: %s", what, d.Effect, d.Rule, leading(", by ", d.By), outcome)))
	}
	if run.Start != nil {
		say("start", run.Cause, run.Start)
	}
	for i := range run.Plugins {
		o.item(at, cli.EscapeLine(run.Plugins[i].String()))
	}
	shown := 0
	for _, c := range run.Calls {
		for i := range c.Plugins {
			if shown++; shown <= maxDecisions {
				o.item(at, cli.EscapeLine(fmt.Sprintf("%s: %s: %s", strings.TrimSpace(c.Tool+" "+c.Arguments), c.Plugins[i].String(), c.Outcome)))
			}
		}
		if c.Decision == nil || c.Decision.Effect == "allow" && c.Decision.By == "" {
			continue
		}
		if shown++; shown <= maxDecisions {
			say(strings.TrimSpace(c.Tool+" "+c.Arguments), c.Outcome, c.Decision)
		}
	}
	if shown > maxDecisions {
		o.item(at, fmt.Sprintf("and %s more, which --json lists", cli.Count(shown-maxDecisions, "decision")))
	}
}

// block prints a text of several lines.
func (o *sessionCommand) block(title, text string) {
	if text == "" {
		return
	}
	style := o.app.OutStyle()
	fmt.Fprintf(o.app.Stdout, "  %s\n", style.Bold(title))
	for line := range strings.Lines(cli.Escape(text)) {
		fmt.Fprintf(o.app.Stdout, "  %s %s\n", style.Dim("|"), strings.TrimRight(line, "\n"))
	}
}
