package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

func newSessionCmd(app *cli.App, at host) *cobra.Command {
	cmd := &cobra.Command{
		Use: "session", Short: "What was done for customers: list, show, resume",
		Long: `A session is the log of what was done for a customer: tasks, scripts and what came of
them, calls, files, checkpoints, tokens. A run with --customer writes it. Secrets and
personal data are taken out; arguments and answers of calls are not in it.`,
		Example: `  mcprun session list
  mcprun session show 20261003-120000-abc123
  mcprun session resume 20261003-120000-abc123 next.ts`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionListCmd(app), newSessionShowCmd(app), newSessionResumeCmd(app, at))
	return cmd
}

type sessionCommand struct {
	customersCommand
	customer string
	code     bool
}

func newSessionListCmd(app *cli.App) *cobra.Command {
	o := &sessionCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, the last used first",
		Example: "  mcprun session list\n  mcprun session list --customer acme",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.list(cmd) },
	}
	o.bind(cmd)
	cmd.Flags().Var(idWord{&o.customer, "customer", "id"}, "customer", "those of this customer only")
	return cmd
}

func (o *sessionCommand) list(cmd *cobra.Command) error {
	root, err := o.openRoot(cmd, false)
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := customersOf(root, o.customer)
	if err != nil {
		return err
	}
	infos := []workspace.SessionInfo{}
	for _, c := range list {
		info, err := c.Info(cmd.Context())
		if err != nil {
			return err
		}
		infos = append(infos, info.Sessions...)
	}
	slices.SortStableFunc(infos, func(a, b workspace.SessionInfo) int {
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

// customersOf is one customer, or all when none is named.
func customersOf(root *workspace.Root, id string) ([]*workspace.Customer, error) {
	if id == "" {
		return root.List()
	}
	c, err := root.Find(id)
	return []*workspace.Customer{c}, err
}

// printSessions prints a table of sessions; titles are cut where the terminal ends.
func printSessions(app *cli.App, infos []workspace.SessionInfo, customers bool) error {
	header := []string{"SESSION", "CUSTOMER", "RUNS", "CALLS", "SAVED", "LAST USED", "TITLE"}
	var rows [][]string
	for i := range infos {
		s := &infos[i]
		rows = append(rows, []string{
			s.ID, s.Customer, fmt.Sprint(s.Stats.Runs), fmt.Sprint(s.Stats.Calls), saved(&s.Stats), ago(time.Now(), s.LastUsed), cli.CleanLine(s.Title),
		})
	}
	if !customers {
		header = slices.Delete(header, 1, 2)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	return fitted(app, header, rows)
}

// fitted prints a table that is no wider than the terminal: its last column is cut, and columns are left out from the right
// where nothing of them would be seen.
func fitted(app *cli.App, header []string, rows [][]string) error {
	const least = 5 // characters of a column that is cut
	for columns := app.Columns(); columns > 0 && len(header) > 1; {
		last := len(header) - 1
		room := columns
		for i := range last {
			room -= columnWidth(header, rows, i) + 2
		}
		if room >= min(least, columnWidth(header, rows, last)) {
			for _, row := range rows {
				row[last] = cli.Shorten(row[last], room)
			}
			header[last] = cli.Shorten(header[last], room)
			break
		}
		header = header[:last]
		for i := range rows {
			rows[i] = rows[i][:last]
		}
	}
	return cli.Table(app.Stdout, app.OutStyle(), header, rows)
}

func columnWidth(header []string, rows [][]string, i int) int {
	width := utf8.RuneCountInString(header[i])
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(cli.CleanLine(row[i])))
	}
	return width
}

func newSessionShowCmd(app *cli.App) *cobra.Command {
	o := &sessionCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "show SESSION", Short: "Show what was done in a session",
		Example: "  mcprun session show 20261003-120000-abc123\n  mcprun session show onboarding --customer acme --code",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.show(cmd, args[0]) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.Var(idWord{&o.customer, "customer", "id"}, "customer", "whose session it is, where several have one of that id")
	f.BoolVar(&o.code, "code", false, "show the scripts, and what they printed")
	return cmd
}

func (o *sessionCommand) show(cmd *cobra.Command, id string) error {
	root, err := o.openRoot(cmd, false)
	if err != nil {
		return err
	}
	defer root.Close()
	s, err := findSession(root, o.customer, id)
	if err != nil {
		return err
	}
	s.Customer().Sweep(cmd.Context())
	info, err := s.Info()
	if err != nil {
		return err
	}
	records := []workspace.Record{}
	bad, err := s.Read(func(r *workspace.Record) error {
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
	fmt.Fprintf(w, "%s of %s, %s, last used %s\n", style.Bold(info.ID), info.Customer, byteCount(int(info.Bytes)), ago(time.Now(), info.LastUsed))
	if info.Stats.Runs > 0 {
		fmt.Fprintf(w, "%s, %s, %s\n", cli.Count(info.Stats.Runs, "run"), cli.Count(info.Stats.Calls, "call"), tokenWords(&info.Stats))
	}
	var sums workspace.Stats
	for i := range records {
		o.record(&records[i], &sums)
	}
	if bad > 0 {
		fmt.Fprintf(w, "%s %s of the log cannot be read: torn by a crash, or not mcprun's\n", style.Yellow("note:"), cli.Count(bad, "line"))
	}
	return nil
}

func findSession(root *workspace.Root, customer, id string) (*workspace.Session, error) {
	if customer == "" {
		return root.FindSession(id)
	}
	c, err := root.Find(customer)
	if err != nil {
		return nil, err
	}
	return c.Session(id)
}

// record prints one line of a log; sums are of the runs before it.
func (o *sessionCommand) record(r *workspace.Record, sums *workspace.Stats) {
	style, w := o.app.OutStyle(), o.app.Stdout
	at := style.Dim(r.Time.Local().Format("2006-01-02 15:04:05"))
	switch {
	case r.Run != nil:
		o.ran(at, r.Run, sums.Add(r.Time, r.Run))
	case r.Checkpoint != nil && r.Kind == workspace.KindRestore:
		fmt.Fprintf(w, "%s  %s to checkpoint %s\n", at, style.Yellow("restored"), cli.CleanLine(r.Checkpoint.Name))
	case r.Checkpoint != nil:
		fmt.Fprintf(w, "%s  %s\n", at, cleanCheckpoint(r.Checkpoint))
	case r.Kind == workspace.KindSession:
		fmt.Fprintf(w, "%s  begun%s\n", at, leading(": ", cli.CleanLine(r.Task)))
	default:
		o.item(at, cli.CleanLine(string(r.Kind))+leading(": ", cli.CleanLine(r.Task)))
	}
}

// leading is text behind lead, or nothing.
func leading(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

// cleanCheckpoint is what a log says of a checkpoint; the log may be from elsewhere.
func cleanCheckpoint(c *workspace.CheckpointInfo) string { return cli.CleanLine(checkpointWords(c)) }

// item prints a text that belongs to a time, folded to the terminal.
func (o *sessionCommand) item(at, text string) {
	const indent = 21
	lead := at + "  "
	for _, line := range fold(text, o.app.Columns()-indent) {
		fmt.Fprintf(o.app.Stdout, "%s%s\n", lead, line)
		lead = strings.Repeat(" ", indent)
	}
}

func (o *sessionCommand) ran(at string, run *workspace.Run, share workspace.Tokens) {
	style := o.app.OutStyle()
	mark := style.Green("ran")
	if run.ExitCode != 0 || run.Cause != "exit" {
		mark = style.Red(fmt.Sprintf("ran, %s, exit code %d", cli.CleanLine(run.Cause), run.ExitCode))
	}
	fmt.Fprintf(o.app.Stdout, "%s  %s %s, %s, %s\n", at, mark, cli.CleanLine(cmp.Or(run.Name, run.Language)), millis(run.DurationMS), cli.Count(run.CallCount, "call"))
	rest := strings.Repeat(" ", 19)
	if run.Message != "" {
		o.item(rest, cli.CleanLine(run.Message))
	}
	if text := callWords(run.Calls); text != "" {
		o.item(rest, "calls: "+text)
	}
	if len(run.Files) > 0 {
		text := "wrote: " + cli.CleanLine(strings.Join(run.Files[:min(len(run.Files), 10)], ", "))
		if more := run.FileCount - 10; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		o.item(rest, text)
	}
	if run.Tokens != nil {
		o.item(rest, tokenWords(&workspace.Stats{Tokens: share}))
	}
	if !o.code {
		return
	}
	o.block("code", run.Code)
	o.block("output", run.Output)
	o.block("result", string(run.Result))
}

// block prints a text of several lines.
func (o *sessionCommand) block(title, text string) {
	if text == "" {
		return
	}
	style := o.app.OutStyle()
	fmt.Fprintf(o.app.Stdout, "  %s\n", style.Bold(title))
	for line := range strings.Lines(cli.Clean(text)) {
		fmt.Fprintf(o.app.Stdout, "  %s %s\n", style.Dim("|"), strings.TrimRight(line, "\n"))
	}
}

// callWords counts the calls of each tool, and its failures, in the order of their first call.
func callWords(calls []workspace.Call) string {
	var tools []string
	made, failed := map[string]int{}, map[string]int{}
	for _, c := range calls {
		if made[c.Tool]++; made[c.Tool] == 1 {
			tools = append(tools, c.Tool)
		}
		if c.Outcome != "ok" && c.Outcome != "dry" {
			failed[c.Tool]++
		}
	}
	var words []string
	for _, t := range tools[:min(len(tools), 10)] {
		text := cli.CleanLine(t)
		if made[t] > 1 {
			text += fmt.Sprintf(" ×%d", made[t])
		}
		if failed[t] > 0 {
			text += fmt.Sprintf(" (%d failed)", failed[t])
		}
		words = append(words, text)
	}
	if more := len(tools) - 10; more > 0 {
		words = append(words, fmt.Sprintf("and %s more", cli.Count(more, "tool")))
	}
	return strings.Join(words, ", ")
}

func millis(ms float64) string {
	if ms >= 10_000 {
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

func newSessionResumeCmd(app *cli.App, at host) *cobra.Command {
	o := &runOptions{app: app, host: at}
	o.resumes = true
	cmd := &cobra.Command{
		Use: "resume SESSION [SCRIPT] [-- ARGS...]", Short: "Run a script in a session that is there",
		Long: `Runs a script in the state of the session's customer, and logs it in that session.
--restore puts a checkpoint in the place of the state first; without a script that is all.
Every flag of mcprun run is there, too: see mcprun run --help.`,
		Example: `  mcprun session resume 20261003-120000-abc123 next.ts
  mcprun session resume onboarding --customer acme --restore=before-import next.ts
  mcprun session resume onboarding --restore      only puts the last checkpoint back`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(cmd, "name the session; mcprun session list has all")
			}
			o.session, o.args = args[0], args[1:]
			if o.code == "" && len(o.args) == 0 {
				return o.restoreOnly(cmd.Context())
			}
			return o.run(cmd.Context())
		},
	}
	o.bind(cmd)
	return cmd
}

// restoreOnly puts a checkpoint back and runs nothing.
func (o *runOptions) restoreOnly(ctx context.Context) error {
	if o.restore == "" {
		return cli.Usage(o.cmd, "name a script, give code with -e, or put a checkpoint back with --restore")
	}
	if o.checkpoint != "" {
		return cli.Usage(o.cmd, "--checkpoint is about a run: name a script")
	}
	con := newConsole(o.app)
	project, err := o.settled(con)
	if err != nil {
		return err
	}
	defer project.Close()
	root, err := o.customersOptions.open(o.app, project.base, project.upstreams)
	if err != nil {
		return err
	}
	defer root.Close()
	s, err := o.find(root)
	if err != nil {
		return err
	}
	if o.task != "" {
		err = s.Append(workspace.Record{Kind: workspace.KindTask, Task: o.task})
	}
	return errors.Join(err, o.putBack(ctx, s, o.sayer(con)))
}
