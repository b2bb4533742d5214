package forms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/models"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/form"
)

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
	values, _, err := f.Read(ctx, form.Words{Text: o.text, Client: client, Mask: p.MaskForeign, Restore: p.RestoredOf})
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
	r.Sender = "" // from now on, it is no longer its script's
	return o.submit(cmd.Context(), r, x)
}
