package customers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

type statsCommand struct {
	customersCommand
	customer string
	session  string
	runs     bool
	tools    bool
}

func NewStatsCommand(app *cli.App) *cobra.Command {
	o := &statsCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "stats", Short: "Show the tokens that runs used and saved",
		Long: `Lists, for each session of each customer, what the model read and wrote (USED) and what
direct calls of the tools would have cost it (DIRECT): all definitions up front, once a session, and
every argument and result through its context. With --runs the definitions stand with the
first run that made a call; a session that made none would have needed none. Runs without
--customer are not counted: nothing of them is kept. Counted with the o200k_base encoding.`,
		Example: `  mcprun stats
  mcprun stats --customer acme --tools
  mcprun stats --session onboarding          each run of one session
  mcprun stats --json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.Var(flags.ID(&o.customer, "customer", "id"), "customer", "show this customer only")
	f.Var(flags.ID(&o.session, "session", "id"), "session", "show each run of this session")
	f.BoolVar(&o.runs, "runs", false, "show each run instead of each session")
	f.BoolVar(&o.tools, "tools", false, "show the calls of each tool too")
	return cmd
}

// runStats is one run of a session.
type runStats struct {
	Time       time.Time `json:"time"`
	Name       string    `json:"name"`
	ExitCode   int       `json:"exitCode"`
	Cause      string    `json:"cause"`
	DurationMS float64   `json:"durationMs"`
	Calls      int       `json:"calls"`
	// Tokens are its share of the session's: the definitions stand with the first run that made a call.
	Tokens *customer.Tokens `json:"tokens,omitempty"`
}

// sessionStats is a session with its runs, where they are wanted.
type sessionStats struct {
	customer.SessionStats
	RunList []runStats `json:"runList,omitempty"`
}

type customerStats struct {
	Customer string `json:"customer"`
	customer.Stats
	Sessions []sessionStats `json:"sessions"`
}

// report is what there is to say: totals, and what they are made of.
type statsReport struct {
	Total     customer.Stats  `json:"total"`
	Customers []customerStats `json:"customers"`
}

func (o *statsCommand) run(cmd *cobra.Command) error {
	root, err := o.openRoot(cmd, false)
	if err != nil {
		return err
	}
	defer root.Close()
	o.runs = o.runs || o.session != ""
	if o.session != "" && o.customer == "" {
		s, err := root.FindSession(o.session)
		if err != nil {
			return err
		}
		o.customer = s.Customer().ID()
	}
	report, err := o.gather(cmd.Context(), root)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(report)
	}
	return o.print(report)
}

func (o *statsCommand) gather(ctx context.Context, root *customer.Root) (*statsReport, error) {
	list, err := customersOf(root, o.customer)
	if err != nil {
		return nil, err
	}
	report := &statsReport{Total: customer.Stats{Tools: []customer.ToolStats{}}, Customers: []customerStats{}}
	for _, c := range list {
		one, err := o.ofCustomer(ctx, c)
		if err != nil {
			return nil, err
		}
		report.Total.Merge(&one.Stats)
		report.Customers = append(report.Customers, *one)
	}
	return report, nil
}

func (o *statsCommand) ofCustomer(ctx context.Context, c *customer.Customer) (*customerStats, error) {
	out := &customerStats{Customer: c.ID(), Stats: customer.Stats{Tools: []customer.ToolStats{}}, Sessions: []sessionStats{}}
	sessions, err := c.Sessions()
	if o.session != "" {
		var s *customer.Session
		s, err = c.Session(o.session)
		sessions = []*customer.Session{s}
	}
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		stats, err := s.Stats()
		if err != nil {
			return nil, err
		}
		one := sessionStats{SessionStats: *stats}
		if o.runs {
			if one.RunList, err = runsOf(s); err != nil {
				return nil, err
			}
		}
		out.Merge(&stats.Stats)
		out.Sessions = append(out.Sessions, one)
	}
	slices.SortStableFunc(out.Sessions, func(a, b sessionStats) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Session, b.Session))
	})
	return out, nil
}

func runsOf(s *customer.Session) ([]runStats, error) {
	var out []runStats
	var all customer.Stats
	_, err := s.Read(func(r *customer.Record) error {
		if run := r.Run; run != nil && r.Kind == customer.KindRun {
			share := all.Add(r.Time, run)
			out = append(out, runStats{
				Time: r.Time, Name: cmp.Or(run.Name, run.Language), ExitCode: run.ExitCode, Cause: run.Cause, DurationMS: run.DurationMS,
				Calls: run.CallCount, Tokens: &share,
			})
			if run.Tokens == nil {
				out[len(out)-1].Tokens = nil
			}
		}
		return nil
	})
	return out, err
}

func (o *statsCommand) print(r *statsReport) error {
	if r.Total.Runs == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "no runs are logged")
		return err
	}
	header := []string{"CALLS", "USED", "DIRECT", "SAVED", "CUSTOMER", "SESSION"}
	if o.runs {
		header = append(header, "RUN")
	}
	var rows [][]string
	add := func(s *customer.Stats, names ...string) {
		rows = append(rows, append([]string{fmt.Sprint(s.Calls), fmt.Sprint(s.Tokens.Used), fmt.Sprint(s.Tokens.Direct), saved(s)}, names...))
	}
	for i := range r.Customers {
		for j := range r.Customers[i].Sessions {
			s := &r.Customers[i].Sessions[j]
			if !o.runs && s.Runs > 0 {
				add(&s.Stats, r.Customers[i].Customer, s.Session)
			}
			for _, run := range s.RunList {
				stats := customer.Stats{Calls: run.Calls}
				if run.Tokens != nil {
					stats.Tokens = *run.Tokens
				}
				add(&stats, r.Customers[i].Customer, s.Session, run.Time.Local().Format("01-02 15:04:05")+" "+run.Name)
			}
		}
	}
	if err := o.app.FitTable(header, rows); err != nil {
		return err
	}
	fmt.Fprintf(o.app.Stdout, "\n%s, %s, %s\n", cli.Count(r.Total.Runs, "run"), cli.Count(r.Total.Calls, "call"), tokenWords(&r.Total))
	if o.tools {
		return o.printTools(r.Total.Tools)
	}
	return nil
}

// saved returns the saved part in percent, or - if no tokens were counted.
func saved(s *customer.Stats) string {
	if s.Tokens.Direct == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", s.SavedPercent())
}

// tokenWords describes how many tokens were used and saved.
func tokenWords(s *customer.Stats) string {
	t := s.Tokens
	switch {
	case t.Direct == 0:
		return cli.Count(int(t.Used), "token") + " used"
	case t.Saved < 0:
		return fmt.Sprintf("%d tokens used, %d more than direct calls", t.Used, -t.Saved)
	}
	return fmt.Sprintf("%d tokens used, %d saved (%.1f %%)", t.Used, t.Saved, s.SavedPercent())
}

func (o *statsCommand) printTools(tools []customer.ToolStats) error {
	if len(tools) == 0 {
		return nil
	}
	fmt.Fprintln(o.app.Stdout)
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{fmt.Sprint(t.Calls), fmt.Sprint(t.Failed), millis(t.MS / float64(max(1, t.Calls))), cli.EscapeLine(t.Tool)})
	}
	return o.app.FitTable([]string{"CALLS", "FAILED", "EACH", "TOOL"}, rows)
}
