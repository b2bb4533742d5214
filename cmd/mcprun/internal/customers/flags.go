// Package customers is about the people and projects that scripts run for: the commands workspace, session and stats, and what a
// run with --customer does before and after the script ([LeasedRun]). The folders, logs and quotas themselves are in
// runner/workspace.
package customers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/record"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// FolderFlags are the flags for the folder of customers and their quota.
type FolderFlags struct {
	workspaces string
	Quota      int64
}

// Bind adds the flags to a command.
func (o *FolderFlags) Bind(f *pflag.FlagSet) {
	o.Quota = customer.DefaultQuota
	f.Var(flags.Text(&o.workspaces, "folder"), "workspaces", "customers' folders (default: workspaces/ beside the configuration)")
	f.Var(flags.Size(&o.Quota, customer.MinQuota), "quota", "limit of one customer's state, sessions, skills and vault together")
}

// Folder returns the absolute folder of customers; base is that of the project.
func (o *FolderFlags) Folder(app *cli.App, base string) string {
	if o.workspaces == "" {
		return filepath.Join(base, "workspaces")
	}
	return app.Path(o.workspaces)
}

// Open opens the folder of customers, and creates it if it is missing. Neither values of upstreams' variables nor personal data
// get into session logs. named holds the ids that the policy names; it may be nil if nothing runs. say is called with a line for the operator
// when sessions of an earlier version were moved to the state; nil: it is printed to standard error. The caller closes the folder.
func (o *FolderFlags) Open(app *cli.App, base string, at store.Opener, upstreams chain.Upstreams, named []string, say func(line string)) (*customer.Root, error) {
	dir := o.Folder(app, base)
	if err := project.RefuseHome(app, dir); err != nil {
		return nil, err
	}
	if say == nil {
		say = func(line string) { fmt.Fprintln(app.Stderr, "mcprun: "+line) }
	}
	return customer.OpenRoot(dir, &customer.RootOptions{
		Quota: o.Quota, Mask: logMask(upstreams), Named: named, Store: at, Moved: func(line string) { say(cli.EscapeLine(line)) },
	})
}

// logMask returns a function that removes secrets and personal data from a value of a log, as a recording does. Each value has
// its own tokens, so that no personal data stays in memory.
func logMask(upstreams chain.Upstreams) func(json.RawMessage) json.RawMessage {
	return func(value json.RawMessage) json.RawMessage {
		m := record.Mask{Text: Conceal(upstreams), JSON: pii.New().MaskJSON}
		return m.Value(value)
	}
}

// Conceal returns a function that removes the secrets of servers from a text, as a recording does. Nil: there are no servers.
func Conceal(upstreams chain.Upstreams) func(string) string {
	if up, ok := upstreams.(interface{ Conceal(string) string }); ok {
		return up.Conceal
	}
	return nil
}

// RecordMask returns a function that removes secrets and personal data from a text for the record.
func RecordMask(upstreams chain.Upstreams) func(string) string {
	m := record.Mask{Text: Conceal(upstreams), JSON: pii.NewPrivate().MaskJSON}
	return m.String
}

// Prices returns the value of the flag --prices.
func Prices(p *model.Prices) pflag.Value {
	*p = model.MidRange()
	return flags.New("input,output", p.String, func(text string) (err error) {
		*p, err = model.ParsePrices(text)
		return err
	})
}

// PricesUsage is the help of the flag --prices.
const PricesUsage = "the price of a million tokens that a model reads, and of a million that it writes"

// customersCommand holds what the commands about customers share.
type customersCommand struct {
	app *cli.App
	FolderFlags
	state   state.PlaceFlag
	project project.LocationFlags
	json    bool
}

// openedRoot is the folder of customers, and the state that was opened for it.
type openedRoot struct {
	*customer.Root
	state *state.Shared
}

// Close closes both.
func (r *openedRoot) Close() error { return errors.Join(r.Root.Close(), r.state.Close()) }

func (o *customersCommand) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	o.FolderFlags.Bind(f)
	o.state.Bind(f)
	cli.BindConfig(f, &o.project.Configs)
	f.BoolVar(&o.json, "json", false, "print one JSON object")
}

// CompleteCustomer completes the flag --customer of cmd, which has these flags.
func CompleteCustomer(app *cli.App, cmd *cobra.Command, at *project.LocationFlags, folders *FolderFlags, place *state.PlaceFlag) {
	cli.CompleteFlag(cmd, "customer", func() ([]string, error) {
		return (&customersCommand{app: app, FolderFlags: *folders, state: *place, project: *at}).customers(cmd)()
	})
}

// customers offers the ids of the customers.
func (o *customersCommand) customers(cmd *cobra.Command) cli.Words {
	return o.words(cmd, func(c *customer.Customer) ([]string, error) { return []string{c.ID()}, nil })
}

// sessions offers the ids of all customers' sessions.
func (o *customersCommand) sessions(cmd *cobra.Command) cli.Words {
	return o.words(cmd, func(c *customer.Customer) ([]string, error) {
		list, err := c.Sessions()
		var ids []string
		for _, s := range list {
			ids = append(ids, s.ID())
		}
		return ids, err
	})
}

func (o *customersCommand) words(cmd *cobra.Command, of func(c *customer.Customer) ([]string, error)) cli.Words {
	return func() ([]string, error) {
		o.project.Silent = true
		root, err := o.openRoot(cmd)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		list, err := root.List()
		if err != nil {
			return nil, err
		}
		var all []string
		for _, c := range list {
			words, err := of(c)
			if err != nil {
				return nil, err
			}
			all = append(all, words...)
		}
		return all, nil
	}
}

// openRoot opens the folder of customers as a run here would. A folder that is missing is an error, unless the customers may be on other
// machines.
func (o *customersCommand) openRoot(cmd *cobra.Command) (*openedRoot, error) {
	cfg, err := o.project.LoadFor(cmd.Context(), o.app, cmd.Flags())
	if err != nil {
		return nil, err
	}
	base := o.app.Dir
	if cfg != nil {
		base = cfg.Dir
	}
	dir := o.Folder(o.app, base)
	at := o.state.Share(o.app, base, project.NameOf(cfg))
	if _, err := os.Stat(dir); err != nil && !at.IsShared() {
		return nil, cli.WithHint(fmt.Errorf("no customers yet: %w", err), "run a script with --customer ID to create the first one, or name another folder with --workspaces")
	}
	root, err := o.Open(o.app, base, at.Open, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	return &openedRoot{root, at}, nil
}

// openCustomer opens an existing customer and the folder of customers. The caller closes the folder.
func (o *customersCommand) openCustomer(cmd *cobra.Command, id string) (*openedRoot, *customer.Customer, error) {
	root, err := o.openRoot(cmd)
	if err != nil {
		return nil, nil, err
	}
	c, err := root.Find(id)
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return root, c, nil
}
