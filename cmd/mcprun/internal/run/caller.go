package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// Caller makes calls without a script, as flags and settings say.
type Caller struct {
	App  *cli.App
	Host resources.Provider
	// Name is the command, for the record, and JSON says that a program reads its output.
	Name  string
	JSON  bool
	Quiet bool
	project.LocationFlags
	callFlags
	State   state.Flags
	timeout time.Duration
	elicit  string

	// Customer is on whose behalf calls are made. Empty: the project's.
	Customer string
	folder   customers.FolderFlags
	own      *customer.Customer // nil: the project
}

// BindCustomer adds the flags that name a customer.
func (o *Caller) BindCustomer(f *pflag.FlagSet) {
	f.Var(flags.Text(&o.Customer, "id"), "customer", "on behalf of this customer")
	o.folder.Bind(f)
}

// findCustomer finds the customer in the project, whose state is attached.
func (o *Caller) findCustomer(p *project.Project, say func(string)) error {
	if o.Customer == "" {
		return nil
	}
	root, err := o.folder.Open(o.App, p.Base, p.State, p.Upstreams, p.Policy.Customers(), say)
	if err != nil {
		return err
	}
	p.OnClose(root.Close)
	o.own, err = root.Find(o.Customer)
	o.Calls.Subject.Customer = o.Customer
	return err
}

// BindCalls adds the flags that say how calls are made.
func (o *Caller) BindCalls(f *pflag.FlagSet) {
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "print nothing but errors and the result")
	f.Var(flags.Duration(&o.timeout), "timeout", "limit of the call, such as 90s or 2m (default: the server's timeout, else 60s)")
	f.Var(flags.Text(&o.elicit, "how"), "elicit", "who answers the server's questions: prompt, decline, or a file of answers (default prompt in a terminal)")
	o.LocationFlags.Bind(f)
	o.callFlags.bindShared(f)
	o.callFlags.bind(f)
	o.State.Bind(f)
}

// Calling is what the calls of one command share.
type Calling struct {
	// Elicit asks a person, and Asks reports whether it can.
	Elicit upstream.ElicitFunc
	Asks   bool
	// Personal says what is done with personal data; nil: nothing.
	Personal *chain.Personal

	o      *Caller
	p      *project.Project
	con    *term.Console
	runner *runner.Runner
	close  func() error
}

func (c *Calling) say(line string) { c.con.Say("mcprun: " + line) }

// Begin prepares calls of a project's tools. The caller closes what it returns before the project.
func (o *Caller) Begin(cmd *cobra.Command, con *term.Console, p *project.Project, tools *catalog.Catalog) (*Calling, error) {
	c := &Calling{o: o, p: p, con: con}
	if err := flags.CheckUnattended(o.App, cmd.Flags(), &p.Settings); err != nil {
		return nil, err
	}
	if err := flags.ApplyDefaults(o.App, cmd.Flags(), &p.Settings); err != nil {
		return nil, err
	}
	if err := o.callFlags.validate(o.App, p); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("timeout") {
		o.Calls.Timeout = o.timeout
	}
	o.setPolicy(p)
	var err error
	c.runner, err = o.Host.Runner(&runner.Options{Tree: p.Tree, Catalog: tools, Upstreams: p.Upstreams, Servers: p.Servers, Telemetry: p.Telemetry, Logger: p.Log})
	if err != nil {
		return nil, err
	}
	if !o.Quiet {
		o.WarnMisspelt(&Host{Runner: c.runner}, c.say)
	}
	asked, err := term.NewElicitor(o.App, con, term.TerminalName(), o.elicit)
	if err != nil {
		return nil, err
	}
	asked.Quiet = o.Quiet
	c.Elicit, c.Asks, c.close = asked.Answer, asked.Asks(), asked.Close
	atTerminal := func() (approve.Approver, error) { return asked.Approver(term.TerminalName()) }
	if o.Calls.Approver, err = o.approver(o.App, p, "", c.say, approverWays{approveTerminal: atTerminal}); err != nil {
		return nil, errors.Join(err, asked.Close())
	}
	o.State.Attach(o.App, p)
	if err := o.findCustomer(p, c.say); err != nil {
		return nil, errors.Join(err, asked.Close())
	}
	open := func() (*pii.Vault, error) { return customers.OpenVault(o.App, p, o.own, "", c.say) }
	if o.Calls.Personal, err = o.pii.Personal(o.App, &p.Settings.PII, o.Customer, o.JSON, open); err != nil {
		return nil, errors.Join(err, asked.Close())
	}
	asked.Personal, c.Personal = o.Calls.Personal, o.Calls.Personal
	o.Calls.Cache = NewCache(o.App, p, "")
	if err := Record(cmd.Context(), o.App, &o.State, p, &o.Calls, o.Customer != "", c.say); err != nil {
		return nil, errors.Join(err, asked.Close())
	}
	o.Calls.Issued = o.pii.Issued(o.App, &p.Settings.PII, o.Customer, func() (*pii.Vault, error) { return customers.OpenUsedVault(o.App, p, o.own, "", c.say) })
	return c, nil
}

// Replays reports whether calls are answered from a recording.
func (o *Caller) Replays() bool { return o.replay != "" }

// Outward returns what is done with personal data that leaves for a model. Nil: nothing, because the mode is off.
func (o *Caller) Outward(p *project.Project) (*chain.Personal, error) {
	return o.pii.Personal(o.App, &p.Settings.PII, o.Customer, true, func() (*pii.Vault, error) { return customers.OpenVault(o.App, p, o.own, "", func(string) {}) })
}

// Close closes the terminal.
func (c *Calling) Close() error { return c.close() }

// Call makes one call, says what is to be said about it, and keeps what was decided.
func (c *Calling) Call(ctx context.Context, tool string, args json.RawMessage, values []string) (*call.Result, error) {
	o := c.o
	d := runner.DirectCall{Tool: tool, Args: args, Values: values, Calls: o.Calls, Elicit: c.Elicit}
	files, err := o.openFiles(o.App, &d.Calls)
	if err != nil {
		return nil, err
	}
	watcher := term.NewWatcher(o.App, c.con, o.Quiet)
	d.Watch = watcher.Event
	res, record, _, err := c.runner.Call(ctx, d)
	watcher.Close()
	if err = errors.Join(err, files.Close()); err != nil {
		err = callFailure(ctx, err)
	}
	if c.Personal != nil {
		if why := c.Personal.Outlet.Trouble(); why != nil {
			c.say(cli.ErrorLine(fmt.Errorf("personal data was replaced by something that cannot be restored: %w", why)))
		}
	}
	if o.replay == "" {
		c.keepDecisions(ctx, &record, err)
	}
	if err == nil && res.As == call.AsDry {
		c.say(fmt.Sprintf("dry run: skipped %s %s", tool, cli.EscapeLine(string(record.Arguments))))
		if record.Skipped != "" && !o.Quiet {
			c.say(cli.EscapeLine(record.Skipped))
		}
	}
	return res, err
}

// keepDecisions keeps what policy and people decided about the call.
func (c *Calling) keepDecisions(ctx context.Context, record *chain.CallRecord, err error) {
	run := &customer.Run{Name: c.o.Name, Cause: string(runner.CauseExit), DurationMS: record.DurationMS, Calls: []customer.Call{runner.LoggedCall(record)}, CallCount: 1, Cache: record.CacheUse().Some()}
	if err != nil {
		run.ExitCode, run.Cause, run.Message = exit.Of(err, exit.Runner), string(runner.CauseError), err.Error()
	}
	keepDecisions(ctx, c.o.App, &c.o.State, c.p, &c.o.Calls, run, c.say)
}
