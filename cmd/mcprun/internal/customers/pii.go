package customers

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/pii"
)

// piiCommand has what the commands about a vault share.
type piiCommand struct {
	customersCommand
	customer string
	types    []string
	all      bool
	unused   time.Duration
}

// NewPIICommand returns `mcprun pii`.
func NewPIICommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "pii", Short: "Manage the vault of personal data",
		Long: `The vault keeps what tokens such as [EMAIL_1] stand for. There is one for each project and each
customer.`,
		Example: "  mcprun pii list\n  mcprun pii forget [EMAIL_7] --customer acme\n  mcprun pii forget --unused 90d",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPIIListCmd(app), newPIIForgetCmd(app))
	return cmd
}

func (o *piiCommand) bind(cmd *cobra.Command) {
	o.customersCommand.bind(cmd)
	cmd.Flags().Var(flags.ID(&o.customer, "customer", "id"), "customer", "the vault of this customer (default: that of the project)")
	cli.CompleteFlag(cmd, "customer", o.customers(cmd))
}

func newPIIListCmd(app *cli.App) *cobra.Command {
	o := &piiCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "list", Short: "Count the values in the vault by type", Example: "  mcprun pii list --json",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(v *pii.Vault) error {
				found, err := v.Counts()
				if err != nil {
					return err
				}
				if o.json {
					return o.app.JSON(found)
				}
				var rows [][]string
				for _, typ := range slices.Sorted(maps.Keys(found)) {
					rows = append(rows, []string{string(typ), fmt.Sprint(found[typ])})
				}
				return o.app.Table([]string{"TYPE", "VALUES"}, rows)
			})
		},
	}
	o.bind(cmd)
	return cmd
}

func newPIIForgetCmd(app *cli.App) *cobra.Command {
	o := &piiCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "forget [VALUE|TOKEN...] [-]", Short: "Remove values from the vault",
		Long: `Removes values, given as they are or by their tokens. With -, they are read from standard input, one a
line, so that they are not in the shell's history. Tokens of forgotten values stand for nothing from
then on, and for no other value later. What was written elsewhere, such as files, stays.`,
		Example: "  mcprun pii forget [EMAIL_7] [NAME_2]\n  mcprun pii forget - < values.txt\n  mcprun pii forget --type PHONE --customer acme\n  mcprun pii forget --unused 90d",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.forget(cmd, args) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&o.types, "type", nil, "remove all values of this type, such as EMAIL")
	f.BoolVar(&o.all, "all", false, "remove all values")
	f.Var(withUnit(&o.unused), "unused", "remove only values that have not been seen for this time, give or take a week; without other selectors, from the whole vault")
	cli.CompleteFlag(cmd, "type", func() ([]string, error) { return typeNames(), nil })
	return cmd
}

func typeNames() []string {
	var names []string
	for _, t := range pii.Types() {
		names = append(names, string(t))
	}
	return names
}

func (o *piiCommand) forget(cmd *cobra.Command, args []string) error {
	f := pii.Forget{All: o.all, Unused: o.unused}
	for _, name := range o.types {
		if !slices.Contains(typeNames(), name) {
			return cli.Usage(cmd, "--type %q is not one of %s", name, strings.Join(typeNames(), ", "))
		}
		f.Types = append(f.Types, pii.Type(name))
	}
	for _, arg := range args {
		if arg != "-" {
			f.Values = append(f.Values, arg)
			continue
		}
		lines := bufio.NewScanner(o.app.Stdin)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				f.Values = append(f.Values, line)
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("read the values from standard input: %w", err)
		}
	}
	switch named := len(f.Values) > 0 || len(f.Types) > 0; {
	case !named && !f.All && f.Unused == 0:
		return cli.Usage(cmd, "name what to forget: values, tokens, --type, --unused or --all")
	case !named:
		f.All = true
	}
	return o.with(cmd, func(v *pii.Vault) error {
		n, err := v.Forget(cmd.Context(), f)
		if err != nil {
			return err
		}
		if o.json {
			return o.app.JSON(map[string]int{"forgotten": n})
		}
		_, err = fmt.Fprintf(o.app.Stdout, "forgot %s\n", cli.Count(n, "value"))
		return err
	})
}

// with opens the vault.
func (o *piiCommand) with(cmd *cobra.Command, do func(v *pii.Vault) error) error {
	if o.customer != "" {
		root, c, err := o.openCustomer(cmd, o.customer)
		if err != nil {
			return err
		}
		defer root.Close()
		v, err := OpenVault(o.app, "", c, "")
		if err != nil {
			return err
		}
		return do(v)
	}
	base := o.app.Dir
	if cfg, err := o.project.Load(o.app); err != nil {
		return err
	} else if cfg != nil {
		base = cfg.Dir
	}
	v, err := OpenVault(o.app, base, nil, "")
	if err != nil {
		return err
	}
	return do(v)
}
