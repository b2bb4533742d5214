package policies

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// widest bounds the characters in the description of the calls that a rule is about.
const widest = 63

// show lists the decisions on all tools.
type show struct {
	command
	level, customer, riskOf string
}

func newShow(app *cli.App, at resources.Provider) *cobra.Command {
	o := &show{command: command{app: app, host: at}}
	cmd := &cobra.Command{
		Use: "show", Short: "List the decision on each tool",
		Long: `Lists all tools in the tree, and what the policy decides about their calls. A line below a tool is a rule
that decides otherwise about some of its calls: by arguments, by what the run did before, by a number
of calls, or, without --risk, by the risk of the script. If the condition of a rule cannot be evaluated for
any call of a tool, all are denied, and the line says why.`,
		Example: `  mcprun policy show
  mcprun policy show --customer acme --risk high
  mcprun policy show --level read_only`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return o.run() },
	}
	f := cmd.Flags()
	f.Var(flags.Text(&o.level, "level"), "level", "as if this were the level of the policy and of all customers")
	f.StringVar(&o.customer, "customer", "", "the customer that the run is for")
	f.Var(flags.Text(&o.riskOf, "level"), "risk", "the risk of the script: low, medium, high or critical")
	o.bindFile(f)
	o.bind(f)
	return cmd
}

func (o *show) run() error {
	tools, p, err := o.open()
	if err != nil {
		return err
	}
	script, err := risk.Parse(o.riskOf)
	if err != nil {
		return flags.Usage("--risk: %w", err)
	}
	if o.level != "" {
		if p, err = p.WithLevel(o.level); err != nil {
			return flags.Usage("--level: %w", err)
		}
	}
	if warning, err := p.CheckNames(tools, &policy.Example{Customer: o.customer}); err == nil && warning != "" {
		fmt.Fprintln(o.app.Stderr, "mcprun: --customer: "+cli.EscapeLine(warning))
	}
	o.warn(p, tools)
	list := make([]policy.Outlook, 0, len(tools))
	for i := range tools {
		list = append(list, p.Show(&tools[i], o.customer, script))
	}
	if o.json {
		return o.app.JSON(map[string]any{"tools": list, "access": p.Access(o.customer)})
	}
	rows := make([][]string, 0, len(list))
	for i := range list {
		d := &list[i].Decision
		rows = append(rows, []string{list[i].Tool, string(d.Effect), d.Rule, d.At})
		if list[i].Fails {
			rows = append(rows, []string{"  " + cli.Shorten(d.Reason, widest), "", "", ""})
		}
		for j := range list[i].Unless {
			x := &list[i].Unless[j]
			rows = append(rows, []string{"  " + cli.Shorten(x.If(), widest), string(x.Effect), x.Rule, x.At})
			if x.Reason != "" {
				rows = append(rows, []string{"  " + cli.Shorten(x.Reason, widest), "", "", ""})
			}
		}
	}
	err = o.app.Table([]string{"TOOL", "DECISION", "RULE", "PLACE"}, rows)
	if access := p.Access(o.customer); len(access) > 0 {
		fmt.Fprintf(o.app.Stdout, "\nwhat scripts may use:\n  %s\n", cli.Escape(strings.Join(access, "\n  ")))
	}
	return err
}
