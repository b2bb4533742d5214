package customers

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

type statsCommand struct {
	customersCommand
	customer string
}

// NewStatsCommand returns the command stats.
func NewStatsCommand(app *cli.App) *cobra.Command {
	o := &statsCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "stats", Short: "Show the tokens that runs used and saved",
		Long: `Lists the tokens of each session: what the model read and wrote (USED), and what direct tool calls
would have cost (DIRECT): all definitions, once for each session with a call, and every argument and
result. Runs without --customer are not counted. The encoding is o200k_base. mcprun session show lists
the runs of a session; --json has the calls of each tool.`,
		Example: "  mcprun stats\n  mcprun stats --customer acme\n  mcprun stats --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.bind(cmd)
	cmd.Flags().Var(flags.ID(&o.customer, "customer", "id"), "customer", "show this customer only")
	cli.CompleteFlag(cmd, "customer", o.customers(cmd))
	return cmd
}

// statsReport is the total, and what it is the sum of.
type statsReport struct {
	Total     customer.Stats            `json:"total"`
	Customers []*customer.CustomerStats `json:"customers"`
}

func (o *statsCommand) run(cmd *cobra.Command) error {
	root, err := o.openRoot(cmd, false)
	if errors.Is(err, fs.ErrNotExist) && !o.json && o.customer == "" {
		_, err = fmt.Fprintln(o.app.Stdout, "no runs are counted: only those with --customer ID are")
		return err
	}
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := customersOf(root, o.customer)
	if err != nil {
		return err
	}
	report := &statsReport{Total: customer.Stats{Tools: []customer.ToolStats{}}, Customers: []*customer.CustomerStats{}}
	for _, c := range list {
		one, err := c.Stats(cmd.Context())
		if err != nil {
			return err
		}
		report.Total.Merge(&one.Stats)
		report.Customers = append(report.Customers, one)
	}
	if o.json {
		return o.app.JSON(report)
	}
	return o.print(report)
}

func (o *statsCommand) print(r *statsReport) error {
	if r.Total.Runs == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "no runs are logged")
		return err
	}
	var rows [][]string
	for i := range r.Customers {
		for j := range r.Customers[i].Sessions {
			if s := &r.Customers[i].Sessions[j]; s.Runs > 0 {
				rows = append(rows, []string{fmt.Sprint(s.Calls), fmt.Sprint(s.Tokens.Used), fmt.Sprint(s.Tokens.Direct), saved(&s.Stats), r.Customers[i].Customer, s.Session})
			}
		}
	}
	if err := o.app.Table([]string{"CALLS", "USED", "DIRECT", "SAVED", "CUSTOMER", "SESSION"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.app.Stdout, "\n%s, %s, %s\n", cli.Count(r.Total.Runs, "run"), cli.Count(r.Total.Calls, "call"), tokenWords(&r.Total))
	return err
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
	case t.Used > t.Direct:
		return fmt.Sprintf("%d tokens used, %d more than direct calls", t.Used, t.Used-t.Direct)
	}
	return fmt.Sprintf("%d tokens used, %d saved (%.1f %%)", t.Used, t.Saved, s.SavedPercent())
}
