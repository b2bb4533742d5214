package customers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// piiCommand has what the commands about a vault share.
type piiCommand struct {
	customersCommand
	customer string
	types    []string
	all      bool
	unused   time.Duration
	kept     store.Opener // the state, while the vault is open
}

// NewPIICommand returns `mcprun pii`.
func NewPIICommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "pii", Short: "Manage the vault of personal data",
		Long: `The vault keeps what tokens such as [EMAIL_1] stand for. There is one for each project and each
customer.`,
		Example: "  mcprun pii list\n  mcprun pii show NAME_1\n  mcprun pii forget '[EMAIL_7]' --customer acme\n  mcprun pii forget --unused 90d",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPIIListCmd(app), newPIIShowCmd(app), newPIIForgetCmd(app))
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
			return o.with(cmd, func(v *pii.Vault, _ noteFunc) error {
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

func newPIIShowCmd(app *cli.App) *cobra.Command {
	o := &piiCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "show TOKEN...", Short: "Show what tokens stand for, in a terminal",
		Long: `Shows what tokens stand for, one a line. It prints only to a terminal, where a person reads it, and not
a model, from which the tokens keep these values.`,
		Example: "  mcprun pii show NAME_1 EMAIL_7\n  mcprun pii show '[NAME_1]' --customer acme",
		Args:    cli.Args(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.show(cmd, args) },
	}
	o.bind(cmd)
	return cmd
}

// show prints what tokens stand for. Nothing is printed if one of them stands for nothing.
func (o *piiCommand) show(cmd *cobra.Command, args []string) error {
	var tokens []string
	for _, arg := range args {
		token, ok := tokenOf(arg)
		if !ok {
			return cli.Usage(cmd, "%q is not a token such as EMAIL_1", arg)
		}
		tokens = append(tokens, token)
	}
	if !o.app.Terminal.Stdout {
		return cli.WithHint(errors.New("what tokens stand for is shown only in a terminal, and standard output is not one"),
			"a person runs it in a terminal; tools get what tokens in their arguments stand for")
	}
	return o.with(cmd, func(v *pii.Vault, note noteFunc) error {
		values := map[string]string{}
		var missing missingError
		for _, token := range tokens {
			value, err := v.Restore(token)
			if err != nil {
				return err
			}
			if values[token] = value; value == token {
				missing = append(missing, token)
			}
		}
		if len(missing) > 0 {
			return missing
		}
		if err := note("pii show", tokens, len(values)); err != nil {
			return fmt.Errorf("nothing is shown, because that cannot be recorded: %w", err)
		}
		if o.json {
			return o.app.JSON(values)
		}
		for _, token := range tokens {
			if _, err := fmt.Fprintf(o.app.Stdout, "%s  %s\n", token, cli.EscapeLine(values[token])); err != nil {
				return err
			}
		}
		return nil
	})
}

func newPIIForgetCmd(app *cli.App) *cobra.Command {
	o := &piiCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "forget [VALUE|TOKEN...] [-]", Short: "Remove values from the vault",
		Long: `Removes values, given as they are or by their tokens. With -, they are read from standard input, one a
line, so that they are not in the shell's history. An argument that is not in the vault is an error;
a line of standard input may be missing. Tokens of forgotten values stand for nothing from then on,
and for no other value later. Cached results of calls are removed, too. What was written elsewhere, such as files,
stays.`,
		Example: "  mcprun pii forget '[EMAIL_7]' NAME_2\n  mcprun pii forget - < values.txt\n  mcprun pii forget --type PHONE --customer acme\n  mcprun pii forget --unused 90d",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.forget(cmd, args) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&o.types, "type", nil, "remove all values of this type, such as EMAIL")
	f.BoolVar(&o.all, "all", false, "remove all values")
	f.Var(flags.WithUnit(&o.unused), "unused", "remove only values that have not been seen for this time, give or take a week; without other selectors, from the whole vault")
	cli.CompleteFlag(cmd, "type", func() ([]string, error) { return typeNames(), nil })
	return cmd
}

// bareToken matches tokens without their brackets, as messages have them. LITERAL_1 stands for a text that only looked like a token.
var bareToken = regexp.MustCompile(`^(` + strings.Join(append(typeNames(), "LITERAL"), "|") + `)_[1-9][0-9]{0,8}$`)

// tokenOf returns the token that an argument is, with or without brackets. Without ok, it is the argument.
func tokenOf(arg string) (token string, ok bool) {
	bare := strings.TrimSuffix(strings.TrimPrefix(arg, "["), "]")
	if !bareToken.MatchString(bare) {
		return arg, false
	}
	return "[" + bare + "]", true
}

// missingError reports values or tokens that are not in the vault.
type missingError []string

func (e missingError) Error() string {
	return "not in the vault: " + strings.Join(e, ", ")
}

func (missingError) ExitCode() int { return 1 }

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
	var single []string
	for _, arg := range args {
		if arg != "-" {
			value, _ := tokenOf(arg)
			single = append(single, value)
			continue
		}
		lines := bufio.NewScanner(o.app.Stdin)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				value, _ := tokenOf(line)
				f.Values = append(f.Values, value)
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("read the values from standard input: %w", err)
		}
	}
	named := len(f.Values) > 0 || len(f.Types) > 0
	switch {
	case !named && len(single) == 0 && !f.All && f.Unused == 0:
		return cli.Usage(cmd, "name what to forget: values, tokens, --type, --unused or --all")
	case !named && len(single) == 0:
		f.All = true
	}
	return o.with(cmd, func(v *pii.Vault, note noteFunc) error {
		n, missing, err := o.forgetEach(cmd.Context(), v, single)
		if err != nil {
			return err
		}
		if named || f.All {
			more, err := v.Forget(cmd.Context(), f)
			if err != nil {
				return err
			}
			n += more
		}
		if err := o.forgetResults(cmd.Context()); err != nil {
			return fmt.Errorf("%s forgotten, but cached results may hold them: %w", cli.Count(n, "value"), err)
		}
		if err := note("pii forget", o.named(append(single, f.Values...)), n); err != nil {
			return fmt.Errorf("%s forgotten, but that is not recorded: %w", cli.Count(n, "value"), err)
		}
		if o.json {
			err = o.app.JSON(map[string]int{"forgotten": n})
		} else {
			_, err = fmt.Fprintf(o.app.Stdout, "forgot %s\n", cli.Count(n, "value"))
		}
		if err == nil && len(missing) > 0 {
			return missing
		}
		return err
	})
}

// forgetResults removes the cached results of the customer: which of them hold a value cannot be seen.
func (o *piiCommand) forgetResults(ctx context.Context) error {
	st, err := o.kept(ctx)
	if err == nil {
		_, err = st.DeleteCachedResults(ctx, store.CachedPart{Customer: &o.customer})
	}
	return err
}

// named says what was to be forgotten: tokens and flags, but not values.
func (o *piiCommand) named(values []string) (names []string) {
	for _, value := range values {
		if token, is := tokenOf(value); is {
			names = append(names, token)
		}
	}
	for _, typ := range o.types {
		names = append(names, "--type "+typ)
	}
	if o.all {
		names = append(names, "--all")
	}
	if o.unused > 0 {
		names = append(names, "--unused "+o.unused.String())
	}
	return names[:min(len(names), 100)]
}

// forgetEach removes values or tokens one by one, and returns how many values it removed, and which are not in the vault.
func (o *piiCommand) forgetEach(ctx context.Context, v *pii.Vault, values []string) (n int, missing missingError, err error) {
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		removed, err := v.Forget(ctx, pii.Forget{Values: []string{value}, Unused: o.unused})
		if err != nil {
			return n, missing, err
		}
		if n += removed; removed == 0 && o.unused == 0 { // otherwise it may be there, but in use
			missing = append(missing, value)
		}
	}
	return n, missing, nil
}

// noteFunc adds to the record what a person does with the vault.
type noteFunc func(action string, names []string, count int) error

// with opens the vault.
func (o *piiCommand) with(cmd *cobra.Command, do func(v *pii.Vault, note noteFunc) error) (err error) {
	p := &project.Project{Base: o.app.Dir}
	if p.Cfg, err = o.project.LoadFor(cmd.Context(), o.app, cmd.Flags()); err != nil {
		return err
	} else if p.Cfg != nil {
		p.Base = p.Cfg.Dir
	}
	var own *customer.Customer
	if o.customer != "" {
		root, c, err := o.openCustomer(cmd, o.customer)
		if err != nil {
			return err
		}
		defer root.Close()
		own = c
	}
	o.state.Attach(o.app, p)
	o.kept = p.State
	defer func() { err = errors.Join(err, p.Close()) }()
	v, err := OpenVault(o.app, p, own, "", func(line string) { fmt.Fprintln(o.app.Stderr, "mcprun: "+line) })
	if err != nil {
		return err
	}
	return do(v, func(action string, names []string, count int) error {
		return o.state.NoteAccess(cmd.Context(), o.app, p, o.customer, action, names, count)
	})
}
