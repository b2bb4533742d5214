package customers

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

type statsCommand struct {
	customersCommand
	customer string
	prices   model.Prices
}

// NewStatsCommand returns the command stats.
func NewStatsCommand(app *cli.App) *cobra.Command {
	o := &statsCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "stats", Short: "Show the tokens that runs used and saved",
		Long: `Lists what each session cost in tokens (USED), and what the same calls would have cost in two other
ways: with search-then-call (SEARCH), where a host searches for tools and the model reads the
definitions of those it calls, every argument and every result; and with direct calls (DIRECT), where
it reads the definitions of all tools. What is read of a tool counts once for each session. MONEY
SAVED and TIME SAVED are compared with search-then-call. Time is what a model takes to read and to write, at 5000 and 60 tokens a
second, however many turns it takes. What a model reads to find tools is left out everywhere.

Runs without --customer are not counted. The encoding is o200k_base. mcprun session show lists the runs
of a session; --json has the calls of each tool.`,
		Example: "  mcprun stats\n  mcprun stats --customer acme\n  mcprun stats --prices 1.25,10\n  mcprun stats --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.bind(cmd)
	cmd.Flags().Var(flags.ID(&o.customer, "customer", "id"), "customer", "show this customer only")
	cmd.Flags().Var(Prices(&o.prices), "prices", PricesUsage)
	cli.CompleteFlag(cmd, "customer", o.customers(cmd))
	return cmd
}

// statsReport is the total and its parts.
type statsReport struct {
	Prices    model.Prices              `json:"prices"` // for a million tokens
	Total     customer.Stats            `json:"total"`
	Customers []*customer.CustomerStats `json:"customers"`
}

func (o *statsCommand) run(cmd *cobra.Command) error {
	root, err := o.openRoot(cmd)
	if errors.Is(err, fs.ErrNotExist) && !o.json && o.customer == "" {
		_, err = fmt.Fprintln(o.app.Stdout, "no runs are counted: only those with --customer ID are")
		return err
	}
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := customersOf(root.Root, o.customer)
	if err != nil {
		return err
	}
	report := &statsReport{Prices: o.prices, Total: customer.Stats{Tools: []customer.ToolStats{}}, Customers: []*customer.CustomerStats{}}
	for _, c := range list {
		one, err := c.Stats(cmd.Context())
		if err != nil {
			return err
		}
		report.Total.Merge(&one.Stats)
		one.Price(o.prices)
		for i := range one.Sessions {
			one.Sessions[i].Price(o.prices)
		}
		report.Customers = append(report.Customers, one)
	}
	report.Total.Price(o.prices)
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
				rows = append(rows, sessionRow(s, r.Customers[i].Customer))
			}
		}
	}
	if err := o.app.Table([]string{"CALLS", "USED", "SEARCH", "SAVED", "DIRECT", "SAVED", "MONEY SAVED", "TIME SAVED", "CUSTOMER", "SESSION"}, rows); err != nil {
		return err
	}
	t, costs := &r.Total.Tokens, r.Total.Costs
	fmt.Fprintln(o.app.Stdout)
	if err := o.app.Table([]string{"WAY", "TOKENS", "MONEY", "TIME", "SAVED"}, [][]string{
		wayRow("code", costs.Used, ""), wayRow("search-then-call", costs.Search, saved(t.Used, t.Search)), wayRow("direct calls", costs.Direct, saved(t.Used, t.Direct)),
	}); err != nil {
		return err
	}
	if c := r.Total.Cache; c != (cache.Use{}) {
		fmt.Fprintf(o.app.Stdout, "\ncache: answered %d of %s; %s and %s saved\n", c.Hits, cli.Count(c.Hits+c.Misses, "call"), flags.Bytes(int(c.Bytes)), seconds(c.SavedMS/1000))
	}
	_, err := fmt.Fprintf(o.app.Stdout, "\n%s, %s; a million tokens at %g read and %g written\n", cli.Count(r.Total.Runs, "run"), cli.Count(r.Total.Calls, "call"),
		r.Prices.Input, r.Prices.Output)
	return err
}

func wayRow(way string, c customer.Cost, saved string) []string {
	return []string{way, fmt.Sprint(c.Tokens), money(c.Money), seconds(c.Seconds), saved}
}

func sessionRow(s *customer.SessionStats, id string) []string {
	t, less := &s.Tokens, s.Costs.Used.Less(s.Costs.Search)
	row := []string{fmt.Sprint(s.Calls), fmt.Sprint(t.Used), fmt.Sprint(t.Search), saved(t.Used, t.Search), fmt.Sprint(t.Direct), saved(t.Used, t.Direct)}
	if t.Search == 0 {
		return append(row, "-", "-", id, s.Session)
	}
	return append(row, money(less.Money), seconds(less.Seconds), id, s.Session)
}
