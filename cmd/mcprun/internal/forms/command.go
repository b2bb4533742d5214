// Package forms has the commands of mcprun form.
package forms

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/models"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/call"
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

	con   *term.Console
	p     *project.Project
	tree  *gen.Tree
	calls *run.Calling
	kept  *form.Kept
}

const long = `Forms are files such as forms/lead.yaml: the fields with their types and rules, where each comes
from in the data, and the tool that takes them. A form is filled in from data, checked as a whole,
completed by a person if one can be asked, and submitted once. What was submitted is kept.
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
		sub.RunE = func(cmd *cobra.Command, args []string) error { return do(o, cmd, args) }
		cmd.AddCommand(sub)
	}
	calls := func(o *command, cmd *cobra.Command) { o.BindCalls(cmd.Flags()) }
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
		Use: "check [NAME...]", Short: "Check forms against the tools of the tree; nothing runs",
		Example: "  mcprun form check", Args: cli.Args(cobra.ArbitraryArgs),
	}, (*command).check, func(o *command, cmd *cobra.Command) { o.LocationFlags.Bind(cmd.Flags()) })
	return cmd
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
	o.kept = &form.Kept{State: o.p.State, Secret: func() ([]byte, error) { return customers.KeyFor(o.App, "") }}
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
	return f, f.Check(o.tree.Catalog)
}

// restore puts back what tokens of personal data stand for.
func (o *command) restore(raw json.RawMessage) (json.RawMessage, error) {
	return o.calls.Personal.Restored(raw)
}

// filled returns a form that is filled in as the flags say.
func (o *command) filled(ctx context.Context, f *form.Form, r *form.Record) (*form.Filling, error) {
	data, err := o.readData(ctx)
	if err != nil {
		return nil, err
	}
	var x *form.Filling
	if r.Form != "" {
		x, err = f.Filling(r, o.restore)
	} else {
		x, err = f.Fill(data, o.restore)
	}
	if err == nil && o.text != "" {
		err = o.readWords(ctx, f, x)
	}
	if err != nil || len(o.set) == 0 {
		return x, err
	}
	values, err := validate.ParseArguments(f.Schema, nil, o.set)
	if err != nil {
		return nil, flags.Usage("--set: %w", err)
	}
	if unknown := f.Unknown(values); len(unknown) > 0 {
		return nil, flags.Usage("--set: the form %s has no field %q", f.Name, unknown[0])
	}
	return x, x.Set(values, "--set")
}

// readWords fills in what a model reads out of --text. What leaves for it has tokens in the place of personal data, unless the mode is off.
func (o *command) readWords(ctx context.Context, f *form.Form, x *form.Filling) error {
	client, err := models.Open(ctx, o.App, o.p)
	if err != nil {
		return err
	}
	p, err := o.Outward(o.p)
	if err != nil {
		return err
	}
	values, _, err := f.Read(ctx, form.Words{Text: o.text, Client: client, Mask: p.Mask, Restore: p.Restored})
	if err != nil {
		return fmt.Errorf("read the words with %s: %w", client.Name(), err)
	}
	return x.Set(values, "model")
}

func (o *command) readData(ctx context.Context) (json.RawMessage, error) {
	if o.data == "" {
		if o.row != 0 {
			return nil, flags.Usage("--row names a row of --data, which is not given")
		}
		return nil, nil
	}
	in := io.Reader(o.App.Stdin)
	if o.data != "-" {
		f, err := os.Open(o.App.Path(o.data))
		if err != nil {
			return nil, fmt.Errorf("read the data: %w", err)
		}
		defer f.Close()
		in = f
	}
	raw, err := form.ReadRow(in, o.row)
	if err != nil {
		return nil, fmt.Errorf("the data in %s: %w", o.data, err)
	}
	return raw, ctx.Err()
}

func (o *command) fill(cmd *cobra.Command, args []string) error {
	if (len(args) == 1) == (o.id != "") {
		return cli.Usage(cmd, "name a form, or an open one with --id")
	}
	if o.id != "" && o.data != "" {
		return cli.Usage(cmd, "--data fills in a new form; change an open one with --set")
	}
	defer o.close()
	if err := o.open(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	r := &form.Record{ID: form.NewID(), By: state.UserName()}
	if o.id != "" {
		var err error
		if r, err = o.kept.Load(ctx, o.id); err != nil {
			return err
		}
		if r.State != form.Open {
			return &form.StateError{ID: r.ID, State: r.State, At: r.Updated}
		}
		args = []string{r.Form}
	}
	f, err := o.read(args[0])
	if err != nil {
		return err
	}
	x, err := o.filled(ctx, f, r)
	if err != nil {
		return err
	}
	if !o.JSON && !o.Quiet {
		o.con.Say(strings.TrimRight(o.table(x), "\n"))
	}
	switch {
	case o.page:
		err = o.onPage(ctx, x)
	case !x.Complete() && o.calls.Asks:
		err = x.Ask(ctx, form.Asker(o.calls.Elicit))
	}
	if err != nil {
		return err
	}
	r.Take(x)
	if err := o.kept.Save(ctx, r); err != nil {
		return err
	}
	if o.keep || !x.Complete() {
		return o.report(r, nil)
	}
	return o.submit(ctx, r, x)
}

// onPage has a person fill a form in on a page, whose address it prints.
func (o *command) onPage(ctx context.Context, x *form.Filling) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	page := form.NewPage(x, l.Addr().String())
	server := &http.Server{Handler: page.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	o.con.Say("mcprun: fill the form in at " + page.URL())
	select {
	case <-page.Done():
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(last) // sends the last answer
		return nil
	case err := <-ended:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), server.Close())
	}
}

// submit submits a form, and prints what came of it.
func (o *command) submit(ctx context.Context, r *form.Record, x *form.Filling) error {
	var sent *call.Result
	err := o.kept.Submit(ctx, r, x, o.again, func(ctx context.Context, tool string, args json.RawMessage) (*call.Result, error) {
		res, err := o.calls.Call(ctx, tool, args, nil)
		if err != nil || res.As == call.AsDry {
			return res, err
		}
		sent = res
		value, err := run.Value(tool, res)
		return &call.Result{Value: value}, err
	})
	if errors.Is(err, form.ErrDry) {
		return nil
	}
	if err != nil {
		var open *form.OpenError
		if errors.As(err, &open) {
			return o.report(r, nil)
		}
		if r.State == form.Unknown {
			err = cli.WithHint(fmt.Errorf("it is unknown whether the form %s was submitted: %w", r.ID, err), "look at the server what has happened; mcprun form submit --again sends it once more")
		} else if r.State == form.Open {
			err = fmt.Errorf("the form %s stays open as %s: %w", r.Form, r.ID, err)
		}
		return err
	}
	return o.report(r, sent)
}

func (o *command) submitOpen(cmd *cobra.Command, args []string) error {
	defer o.close()
	if err := o.open(cmd); err != nil {
		return err
	}
	r, err := o.kept.Load(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	f, err := o.read(r.Form)
	if err != nil {
		return err
	}
	x, err := f.Filling(r, o.restore)
	if err != nil {
		return err
	}
	return o.submit(cmd.Context(), r, x)
}

func (o *command) preview(cmd *cobra.Command, args []string) error {
	defer o.close()
	if err := o.open(cmd); err != nil {
		return err
	}
	f, err := o.read(args[0])
	if err != nil {
		return err
	}
	x, err := o.filled(cmd.Context(), f, &form.Record{})
	if err != nil {
		return err
	}
	r := &form.Record{}
	if r.Take(x); o.JSON {
		err = o.App.JSON(o.masked(r))
	} else {
		_, err = io.WriteString(o.App.Stdout, o.table(x))
	}
	if err == nil && !x.Complete() {
		err = cli.Quiet(exitOpen)
	}
	return err
}

func (o *command) list(cmd *cobra.Command, _ []string) error {
	defer o.close()
	if err := o.open(cmd); err != nil {
		return err
	}
	all, err := o.kept.List(cmd.Context())
	if err != nil {
		return err
	}
	if o.JSON {
		out := make([]*form.Record, len(all))
		for i := range all {
			out[i] = o.masked(&all[i])
		}
		return o.App.JSON(map[string]any{"forms": out})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.App.Stdout, "no forms were filled in")
		return err
	}
	var rows [][]string
	for i := range all {
		r := &all[i]
		rows = append(rows, []string{r.ID, r.Form, string(r.State), r.Updated.Local().Format("2006-01-02 15:04"), o.mask(lacks(r))})
	}
	return o.App.Table([]string{"ID", "FORM", "STATE", "CHANGED", "LACKS"}, rows)
}

func (o *command) show(cmd *cobra.Command, args []string) error {
	defer o.close()
	if err := o.open(cmd); err != nil {
		return err
	}
	r, err := o.kept.Load(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	return o.App.JSON(o.masked(r))
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

// lacks says what keeps a form open.
func lacks(r *form.Record) string {
	if len(r.Problems)+len(r.Missing) == 0 {
		return r.Error
	}
	return strings.TrimPrefix((&form.OpenError{Problems: r.Problems, Missing: r.Missing}).Error(), "the form  is open: ")
}

// report prints what became of a form. sent is the tool's result, if it was submitted.
func (o *command) report(r *form.Record, sent *call.Result) error {
	if o.JSON {
		if err := o.App.JSON(o.masked(r)); err != nil {
			return err
		}
	} else if r.State == form.Submitted {
		if !o.Quiet {
			o.con.Say(fmt.Sprintf("mcprun: submitted the form %s as %s", r.Form, r.ID))
		}
		return o.Print(sent)
	} else {
		line := fmt.Sprintf("mcprun: the form %s stays open as %s", r.Form, r.ID)
		if why := lacks(r); why != "" {
			line += ": " + cli.EscapeLine(o.mask(why))
		}
		o.con.Say(line)
	}
	if r.State == form.Open && len(r.Problems)+len(r.Missing) > 0 {
		return cli.Quiet(exitOpen)
	}
	return nil
}

// mask replaces personal data in a text, if a program reads it.
func (o *command) mask(text string) string { return o.calls.Personal.Mask(text) }

// masked returns a form for output.
func (o *command) masked(r *form.Record) *form.Record {
	out := *r
	p := o.calls.Personal
	out.Values, out.Arguments, out.Result, out.Error = p.MaskJSON(r.Values), p.MaskJSON(r.Arguments), p.MaskJSON(r.Result), p.Mask(r.Error)
	out.Problems = []form.Problem{}
	for _, each := range r.Problems {
		out.Problems = append(out.Problems, form.Problem{Field: each.Field, Message: p.Mask(each.Message)})
	}
	out.Missing = append([]string{}, r.Missing...)
	return &out
}

// table returns the preview as a table.
func (o *command) table(x *form.Filling) string {
	var rows [][]string
	for _, row := range x.Rows() {
		value := "-"
		if row.Value != nil {
			value = cli.Shorten(o.mask(string(row.Value)), 60)
		}
		rows = append(rows, []string{row.Field.Name, cli.EscapeLine(value), cli.EscapeLine(cmp.Or(row.From, "-")), cli.EscapeLine(o.mask(cmp.Or(row.Problem, "ok")))})
	}
	var text strings.Builder
	_ = cli.Table(&text, cli.Style{}, []string{"FIELD", "VALUE", "FROM", "CHECK"}, rows) // a Builder takes all
	return text.String()
}
