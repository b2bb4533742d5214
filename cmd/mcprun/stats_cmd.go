package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

type statsCommand struct {
	customersCommand
	customer string
	session  string
	runs     bool
	tools    bool
}

func newStatsCmd(app *cli.App) *cobra.Command {
	o := &statsCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "stats", Short: "What runs cost in tokens, and what they saved",
		Long: `Draws, for each session of each customer, what the model read and wrote (used) beside what
direct calls of the tools would have cost it: all definitions up front, once a session, and
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
	f.Var(idWord{&o.customer, "customer", "id"}, "customer", "of this customer only")
	f.Var(idWord{&o.session, "session", "id"}, "session", "each run of this session")
	f.BoolVar(&o.runs, "runs", false, "each run, not each session")
	f.BoolVar(&o.tools, "tools", false, "the calls of each tool, too")
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
	Tokens *workspace.Tokens `json:"tokens,omitempty"`
}

// sessionStats is a session with its runs, where they are wanted.
type sessionStats struct {
	workspace.SessionStats
	RunList []runStats `json:"runList,omitempty"`
}

type customerStats struct {
	Customer string `json:"customer"`
	workspace.Stats
	Sessions []sessionStats `json:"sessions"`
}

// report is what there is to say: totals, and what they are made of.
type statsReport struct {
	Total     workspace.Stats `json:"total"`
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

func (o *statsCommand) gather(ctx context.Context, root *workspace.Root) (*statsReport, error) {
	list, err := customersOf(root, o.customer)
	if err != nil {
		return nil, err
	}
	report := &statsReport{Total: workspace.Stats{Tools: []workspace.ToolStats{}}, Customers: []customerStats{}}
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

func (o *statsCommand) ofCustomer(ctx context.Context, c *workspace.Customer) (*customerStats, error) {
	out := &customerStats{Customer: c.ID(), Stats: workspace.Stats{Tools: []workspace.ToolStats{}}, Sessions: []sessionStats{}}
	c.Sweep(ctx)
	sessions, err := c.Sessions()
	if o.session != "" {
		var s *workspace.Session
		s, err = c.Session(o.session)
		sessions = []*workspace.Session{s}
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

func runsOf(s *workspace.Session) ([]runStats, error) {
	var out []runStats
	var all workspace.Stats
	_, err := s.Read(func(r *workspace.Record) error {
		if run := r.Run; run != nil && r.Kind == workspace.KindRun {
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
	ch := newChart(o.app)
	for i := range r.Customers {
		c := &r.Customers[i]
		if c.Runs == 0 {
			continue
		}
		ch.title(c.Customer, &c.Stats)
		for j := range c.Sessions {
			o.sessionBars(ch, &c.Sessions[j])
		}
	}
	if len(r.Customers) > 1 {
		ch.title("all together", &r.Total)
	}
	if err := ch.print(); err != nil {
		return err
	}
	if o.tools {
		return o.printTools(r.Total.Tools)
	}
	return nil
}

// sessionBars adds a session to a chart, or each of its runs.
func (o *statsCommand) sessionBars(ch *chart, s *sessionStats) {
	if !o.runs {
		if s.Runs > 0 {
			ch.bar(s.Session, s.Tokens)
		}
		return
	}
	for _, run := range s.RunList {
		t := workspace.Tokens{}
		if run.Tokens != nil {
			t = *run.Tokens
		}
		ch.bar(run.Time.Local().Format("01-02 15:04:05")+" "+run.Name, t)
	}
}

func (o *statsCommand) printTools(tools []workspace.ToolStats) error {
	if len(tools) == 0 {
		return nil
	}
	fmt.Fprintln(o.app.Stdout)
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{fmt.Sprint(t.Calls), fmt.Sprint(t.Failed), millis(t.MS / float64(max(1, t.Calls))), cli.CleanLine(t.Tool)})
	}
	return fitted(o.app, []string{"CALLS", "FAILED", "EACH", "TOOL"}, rows)
}
