// Package caches has the commands that show and remove cached results of calls.
package caches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/store"
)

type command struct {
	app      *cli.App
	project  project.LocationFlags
	state    state.PlaceFlag
	json     bool
	customer string
	server   string

	cfg *config.Config // nil: the project has none
}

// NewCommand returns `mcprun cache`.
func NewCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cache", Short: "Show and remove cached results of calls",
		Long: `With cache: in mcpgen.yaml, results of read-only tools are kept in the project's state, and answer equal
calls for some time. See --no-cache of mcprun run.`,
		Example: "  mcprun cache show\n  mcprun cache clear --server crm",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	show := &command{app: app}
	showCmd := &cobra.Command{
		Use: "show", Short: "Show how many results are kept of each server, and how many calls they answered",
		Example: "  mcprun cache show\n  mcprun cache show --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return show.show(cmd) },
	}
	clear := &command{app: app}
	clearCmd := &cobra.Command{
		Use: "clear", Short: "Remove cached results: all, or those of a customer or server",
		Example: "  mcprun cache clear\n  mcprun cache clear --server crm\n  mcprun cache clear --customer acme",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return clear.clear(cmd) },
	}
	clearCmd.Flags().Var(flags.ID(&clear.customer, "customer", "id"), "customer", "those of this customer (default: of all, and of the project itself)")
	clearCmd.Flags().Var(flags.Text(&clear.server, "name"), "server", "those of this server (default: of all)")
	for o, sub := range map[*command]*cobra.Command{show: showCmd, clear: clearCmd} {
		sub.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
		o.project.BindConsent(sub.Flags())
		o.state.Bind(sub.Flags())
	}
	cmd.AddCommand(showCmd, clearCmd)
	return cmd
}

// with calls do with the state. If there is no state yet, do is not called.
func (o *command) with(cmd *cobra.Command, do func(context.Context, store.Store) error) error {
	ctx := cmd.Context()
	cfg, err := o.project.LoadFor(ctx, o.app, cmd.Flags())
	if err != nil {
		return err
	}
	base := o.app.Dir
	if o.cfg = cfg; cfg != nil {
		base = cfg.Dir
	}
	at := o.state.Share(o.app, base, project.NameOf(cfg))
	st, err := at.Existing(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, st), at.Close())
}

func (o *command) show(cmd *cobra.Command) error {
	uses := []store.CachedUse{}
	err := o.with(cmd, func(ctx context.Context, st store.Store) error {
		all, err := st.CachedUses(ctx)
		uses = append(uses, all...)
		return err
	})
	switch {
	case err != nil:
		return err
	case o.json:
		return o.app.JSON(map[string]any{"cached": uses})
	case len(uses) == 0:
		_, err := fmt.Fprintln(o.app.Stdout, "no results are kept")
		o.explain()
		return err
	}
	defer o.explain()
	var rows [][]string
	for _, u := range uses {
		rows = append(rows, []string{cli.EscapeLine(u.Server), fmt.Sprint(u.Results), flags.Bytes(int(u.Bytes)), fmt.Sprint(u.Hits), cmp.Or(cli.EscapeLine(u.Customer), "-")})
	}
	return o.app.Table([]string{"SERVER", "RESULTS", "TAKE", "HITS", "CUSTOMER"}, rows)
}

// explain says why results are not kept, of servers whose tools count as ones that write.
func (o *command) explain() {
	if o.cfg == nil || o.cfg.Settings.Cache == nil {
		fmt.Fprintf(o.app.Stderr, "mcprun: nothing is kept without the key cache in %s\n", config.SettingsName)
		return
	}
	var without []string
	for _, s := range o.cfg.Servers {
		if !s.Trusted && len(s.ReadOnly) == 0 {
			without = append(without, s.Key)
		}
	}
	if len(without) > 0 {
		fmt.Fprintf(o.app.Stderr, "mcprun: results of %s are not kept: nobody says which of the tools only read\nhint: name those in read_only below the server in %s, or write trusted: true to believe what the server says\n",
			cli.EscapeLine(ident.List(without)), config.SettingsName)
	}
}

func (o *command) clear(cmd *cobra.Command) error {
	part := store.CachedPart{Server: o.server}
	if o.customer != "" {
		part.Customer = &o.customer
	}
	var removed int64
	err := o.with(cmd, func(ctx context.Context, st store.Store) (err error) {
		removed, err = st.DeleteCachedResults(ctx, part)
		return err
	})
	switch {
	case err != nil:
		return err
	case o.json:
		return o.app.JSON(map[string]int64{"removed": removed})
	}
	_, err = fmt.Fprintf(o.app.Stdout, "removed %s\n", cli.Count(int(removed), "result"))
	return err
}
