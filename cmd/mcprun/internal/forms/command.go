// Package forms has the commands of mcprun form.
package forms

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/runner/form"
)

// exitOpen is the exit code if a form stays open.
const exitOpen = 3

// command is one of the commands.
type command struct {
	run.Caller
	data, id string
	text     string
	row      int
	set      []string
	keep     bool
	page     bool
	port     int
	again    bool
	idle     time.Duration

	con   *term.Console
	p     *project.Project
	tree  *gen.Tree
	calls *run.Calling
	kept  *form.Kept
}

const long = `Forms are files such as forms/lead.yaml: the fields with their types and rules, where each comes
from in the data, and the tool that takes them. A form is filled in from data, checked as a whole,
completed by a person if one can be asked, and submitted. What was submitted is kept, and not sent again.
The exit code is 0 if the form was submitted, 3 if it stays open, and 1 if the tool failed.`

// NewCommand returns `mcprun form`.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "form", Short: "Fill in forms from data, and submit them by a tool", Long: long,
		Example: "  mcprun form fill lead --data leads.csv --row 3\n  mcprun form list\n  mcprun form submit form-x4k2m9q7ab",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(sub *cobra.Command, do func(o *command, cmd *cobra.Command, args []string) error, flags ...func(o *command, cmd *cobra.Command)) {
		o := &command{Caller: run.Caller{App: app, Host: at, Name: "mcprun form"}}
		f := sub.Flags()
		f.BoolVar(&o.JSON, "json", false, "print one JSON object")
		o.BindForms(f)
		for _, bind := range flags {
			bind(o, sub)
		}
		if strings.Contains(sub.Use, "NAME") {
			sub.ValidArgsFunction = cli.CompleteArgs(1, o.names)
		}
		sub.RunE = func(cmd *cobra.Command, args []string) error { return do(o, cmd, args) }
		cmd.AddCommand(sub)
	}
	calls := func(o *command, cmd *cobra.Command) {
		o.BindCalls(cmd.Flags())
		o.BindCustomer(cmd.Flags())
	}
	add(&cobra.Command{
		Use: "fill [NAME]", Short: "Fill in a form, and submit it if it is complete",
		Long: `Fills in a form from --data, --text and --set, in this order, or goes on with an open one. A person at the
terminal is asked for what is missing or does not fit. If nobody can be asked, the form stays open.`,
		Example: "  mcprun form fill lead --data leads.csv --row 3\n  mcprun form fill lead --set email=ann@example.com --keep\n  mcprun form fill --id form-x4k2m9q7ab --set due=2026-12-31",
		Args:    cli.Args(cobra.MaximumNArgs(1)),
	}, (*command).fill, calls, (*command).bindData, func(o *command, cmd *cobra.Command) {
		f := cmd.Flags()
		f.Var(flags.Text(&o.id, "id"), "id", "go on with this open form")
		f.BoolVar(&o.page, "page", false, "fill it in on a page of this machine")
		f.IntVar(&o.port, "port", 0, "port of the page on 127.0.0.1 (default any that is free)")
		f.BoolVar(&o.keep, "keep", false, "keep the form open, and do not submit it")
	})
	add(&cobra.Command{
		Use: "preview NAME", Short: "Show how data fills a form in; nothing is kept or sent",
		Example: "  mcprun form preview lead --data leads.csv --row 3", Args: cli.Args(cobra.ExactArgs(1)),
	}, (*command).preview, calls, (*command).bindData)
	add(&cobra.Command{
		Use: "submit ID", Short: "Submit an open form",
		Long:    "Submits an open form. One that was sent, but whose outcome is unknown, is sent again with --again only.",
		Example: "  mcprun form submit form-x4k2m9q7ab", Args: cli.Args(cobra.ExactArgs(1)),
	}, (*command).submitOpen, calls, func(o *command, cmd *cobra.Command) {
		cmd.Flags().BoolVar(&o.again, "again", false, "send a form whose outcome is unknown once more")
	})
	add(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List open and submitted forms",
		Example: "  mcprun form list", Args: cli.Args(cobra.NoArgs),
	}, (*command).list, calls)
	add(&cobra.Command{
		Use: "show ID", Short: "Show a kept form: its values, what it lacks, and what was sent",
		Example: "  mcprun form show form-x4k2m9q7ab", Args: cli.Args(cobra.ExactArgs(1)),
	}, (*command).show, calls)
	add(&cobra.Command{
		Use: "rm [ID...]", Short: "Remove kept forms, and the record of what they sent",
		Example: "  mcprun form rm form-x4k2m9q7ab\n  mcprun form rm --idle 90d", Args: cli.Args(cobra.ArbitraryArgs),
	}, (*command).remove, calls, func(o *command, cmd *cobra.Command) {
		cmd.Flags().Var(flags.WithUnit(&o.idle), "idle", "remove all that have not changed for this time, such as 90d")
	})
	add(&cobra.Command{
		Use: "check [NAME...]", Short: "Check forms against the tools of the tree; nothing runs",
		Example: "  mcprun form check", Args: cli.Args(cobra.ArbitraryArgs),
	}, (*command).check, func(o *command, cmd *cobra.Command) { o.LocationFlags.Bind(cmd.Flags()) })
	return cmd
}

// names offers the forms of the project.
func (o *command) names() ([]string, error) {
	p, err := o.OpenToRead(o.App, o.Host, io.Discard)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return o.Forms(o.App, p).List()
}

func (o *command) bindData(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(flags.Text(&o.data, "file"), "data", "the data: a file with a JSON object, a JSON list or CSV; - is standard input")
	f.Var(flags.Text(&o.text, "words"), "text", "a person's words; the model of the project reads values of fields out of them")
	f.IntVar(&o.row, "row", 0, "which element of the list or row of the CSV, from 1")
	f.StringArrayVar(&o.set, "set", nil, "set a field: `FIELD=VALUE`, or FIELD:=JSON")
}

// open opens the project, for calls too. The caller closes it.
func (o *command) open(cmd *cobra.Command) (err error) {
	o.con = term.NewConsole(o.App)
	if o.p, err = o.Open(cmd.Context(), o.App, o.Host, o.con.Other()); err != nil {
		return err
	}
	if o.tree, err = openTree(o.p); err != nil {
		return err
	}
	if o.calls, err = o.Begin(cmd, o.con, o.p, o.tree.Catalog); err != nil {
		return err
	}
	o.kept = &form.Kept{State: o.p.State, Secret: func() ([]byte, error) { return customers.KeyFor(o.App, "") }, Customer: o.Customer}
	if o.Replays() {
		o.kept = form.InMemory()
	}
	return nil
}

func openTree(p *project.Project) (*gen.Tree, error) {
	if p.Tree == "" {
		return nil, cli.WithHint(fmt.Errorf("there is no generated tree in %q", p.Wanted), "make one with mcpgen sync, or name it with --servers")
	}
	return gen.Open(gen.Options{Out: p.Tree})
}

func (o *command) close() {
	if o.calls != nil {
		_ = o.calls.Close()
	}
	if o.p != nil {
		_ = o.p.Close()
	}
	if o.con != nil {
		o.con.Close()
	}
}

// read reads a form, and checks it against the tree.
func (o *command) read(name string) (*form.Form, error) {
	f, err := o.Forms(o.App, o.p).Read(name)
	if err != nil {
		return nil, err
	}
	return f, f.Check(o.tree)
}

// restore puts back what tokens of personal data stand for.
func (o *command) restore(raw json.RawMessage) (json.RawMessage, error) {
	return o.calls.Personal.Restored(raw)
}

// check checks the named forms, or all of them.
func (o *command) check(_ *cobra.Command, names []string) error {
	p, err := o.OpenToRead(o.App, o.Host, o.App.Stderr)
	if err != nil {
		return err
	}
	defer p.Close()
	o.p = p
	if o.tree, err = openTree(p); err != nil {
		return err
	}
	if len(names) == 0 {
		if names, err = o.Forms(o.App, p).List(); err != nil {
			return err
		}
	}
	bad := 0
	for _, name := range names {
		f, err := o.read(name)
		if err != nil {
			bad++
			fmt.Fprintln(o.App.Stderr, "mcprun: "+cli.ErrorLine(err))
			continue
		}
		if _, err := fmt.Fprintf(o.App.Stdout, "%s: ok, %s by %s\n", f.Name, cli.Count(len(f.Fields), "field"), f.Tool); err != nil {
			return err
		}
	}
	if bad > 0 {
		return cli.Quiet(1)
	}
	if len(names) == 0 {
		_, err = fmt.Fprintf(o.App.Stdout, "no forms in %s\n", filepath.Join(p.Base, "forms"))
	}
	return err
}
