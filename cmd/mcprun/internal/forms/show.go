package forms

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/form"
)

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
		rows = append(rows, []string{r.ID, r.Form, string(r.State), r.Updated.Local().Format("2006-01-02 15:04"), o.mask(r.Lacks())})
	}
	return o.App.Table([]string{"ID", "FORM", "STATE", "CHANGED", "LACKS"}, rows)
}

func (o *command) remove(cmd *cobra.Command, ids []string) error {
	if (len(ids) == 0) == (o.idle == 0) {
		return cli.Usage(cmd, "name the forms, or a time with --idle")
	}
	defer o.close()
	if err := o.open(cmd); err != nil {
		return err
	}
	n := len(ids)
	err := o.kept.Remove(cmd.Context(), ids...)
	if n == 0 {
		n, err = o.kept.Sweep(cmd.Context(), time.Now().Add(-o.idle))
	}
	if err == nil && !o.Quiet {
		o.con.Say("mcprun: removed " + cli.Count(n, "form"))
	}
	return err
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
		if why := r.Lacks(); why != "" {
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
