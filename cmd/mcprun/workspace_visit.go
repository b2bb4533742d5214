package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// checkpointNow and restoreLast are what the flags mean without a name.
const (
	checkpointNow = "now"
	restoreLast   = "last"
)

// customerOptions say for whom a run is.
type customerOptions struct {
	customersOptions
	customer   string
	session    string
	task       string
	checkpoint string
	resumes    bool // session was named as one that is there
	restore    string
}

func (o *customerOptions) bind(f *pflag.FlagSet) {
	f.Var(idWord{&o.customer, "customer", "id"}, "customer", "it writes in this customer's folder, made if missing, and is logged there")
	if !o.resumes {
		f.Var(idWord{&o.session, "session", "id"}, "session", "log it in this session of the customer's, begun if missing (default a new one)")
	}
	f.Var(word{&o.task, "text"}, "task", "what it is for, in words: for the session's log")
	f.VarPF(idWord{&o.checkpoint, "checkpoint", ""}, "checkpoint", "", "when it has ended with exit code 0, keep a copy of the customer's state, which =NAME names").NoOptDefVal = checkpointNow
	if o.resumes {
		f.VarPF(idWord{&o.restore, "checkpoint", ""}, "restore", "", "before it, put a checkpoint in the place of the state: the session's last, or =NAME").NoOptDefVal = restoreLast
	}
	o.customersOptions.bind(f)
}

// wanted tells whether the run is for a customer.
func (o *customerOptions) wanted() bool { return o.customer != "" || o.resumes }

// together tells what does not go together.
func (o *customerOptions) together(flags *pflag.FlagSet) error {
	if o.wanted() {
		if flags.Changed("workspace") {
			return usage("--customer and --workspace both say where the script may write: give one of the two")
		}
		return nil
	}
	for _, name := range []string{"session", "task", "checkpoint"} {
		if flags.Changed(name) {
			return usage("--%s is about a customer's run: name the customer with --customer", name)
		}
	}
	return nil
}

// visit is one run for a customer: its state is held, and what it came to is logged.
type visit struct {
	opt     *customerOptions
	root    *workspace.Root
	lease   *workspace.Lease
	session *workspace.Session
	at      logged
	say     func(line string)
	wrong   func(line string) // says what went wrong
}

// visit takes the customer's state for a run, whose plan it completes. The caller closes it. It is nil when the run is for no
// customer.
func (o *customerOptions) visit(ctx context.Context, app *cli.App, project *project, p *plan, say func(line string)) (v *visit, err error) {
	if !o.wanted() {
		return nil, refuseCustomers(o.folder(app, project.base), p.Workspace)
	}
	v = &visit{opt: o, say: say, wrong: say}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.close())
			v = nil
		}
	}()
	if v.root, err = o.open(app, project.base, project.upstreams); err != nil {
		return v, err
	}
	if v.session, err = o.find(v.root); err != nil {
		return v, err
	}
	c := v.session.Customer()
	if err = o.putBack(ctx, v.session, say); err != nil {
		return v, err
	}
	if v.lease, err = c.Begin(ctx, p.Limits.Disk); err != nil {
		return v, err
	}
	p.Workspace, p.Limits.Disk, p.Capture = v.lease.Files(), v.lease.Disk, true
	v.at = logged{Customer: c.ID(), Session: v.session.ID(), Dir: v.lease.Files()}
	for _, m := range v.lease.Moved {
		say(cli.CleanLine(m.String()))
	}
	say(fmt.Sprintf("session %s of customer %s", v.session.ID(), c.ID()))
	if o.task != "" {
		err = v.session.Append(workspace.Record{Kind: workspace.KindTask, Task: o.task})
	}
	src := &p.Source
	return v, errors.Join(err, v.lease.Note(v.session, runner.LoggedLoss(&runner.Script{Name: src.Name, Code: src.Code, Language: src.Language})))
}

// find returns the session of the run, which is begun unless it is there, or must be.
func (o *customerOptions) find(root *workspace.Root) (*workspace.Session, error) {
	switch {
	case o.resumes && o.customer == "":
		return root.FindSession(o.session)
	case o.resumes:
		c, err := root.Find(o.customer)
		if err != nil {
			return nil, err
		}
		return c.Session(o.session)
	}
	if o.session != "" {
		if err := workspace.CheckID("session", o.session); err != nil { // before a customer is made
			return nil, err
		}
	}
	c, err := root.Customer(o.customer)
	if err != nil {
		return nil, err
	}
	if o.session != "" {
		if s, err := c.Session(o.session); !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	s, err := c.NewSession(workspace.Meta{ID: o.session, Title: o.task})
	if errors.Is(err, fs.ErrExist) { // another run has just begun it
		return c.Session(o.session)
	}
	return s, err
}

// putBack restores the checkpoint that was asked for.
func (o *customerOptions) putBack(ctx context.Context, s *workspace.Session, say func(string)) error {
	if o.restore == "" {
		return nil
	}
	name := o.restore
	if name == restoreLast {
		name = ""
	}
	info, err := s.Restore(ctx, name)
	if err != nil {
		return err
	}
	say(fmt.Sprintf("the state is that of checkpoint %s, %s", info.Name, cli.Count(info.Files, "file")))
	return nil
}

// logged is where a run is logged, for whoever reads its result.
type logged struct {
	Customer   string                    `json:"customer"`
	Session    string                    `json:"session"`
	Dir        string                    `json:"dir"` // what the script wrote to
	Checkpoint *workspace.CheckpointInfo `json:"checkpoint,omitempty"`
}

// place is where the run is logged; nil where it is not.
func (v *visit) place() *logged {
	if v == nil {
		return nil
	}
	return &v.at
}

// explain says, of a script that was ended for what it wrote, that it was the customer's quota that it ran into.
func (v *visit) explain(res *runner.Result, disk int64) {
	if v == nil || res == nil || v.lease.Disk >= disk || !slices.Contains(res.LimitsHit, sandbox.LimitDisk) {
		return
	}
	c := v.session.Customer()
	text := fmt.Sprintf("that is what was left of the quota of customer %s, %s (--quota)", c.ID(), byteCount(int(c.Quota())))
	res.Message = strings.TrimPrefix(res.Message+"; "+text, "; ")
}

// log writes down what the run came to. Where that cannot be done the run has its result all the same, and it is said.
func (v *visit) log(ctx context.Context, src *source, res *runner.Result, failed error) {
	if v == nil || res == nil && failed == nil {
		return
	}
	s := &runner.Script{Name: src.Name, Code: src.Code, Language: src.Language}
	var run *workspace.Run
	if res != nil {
		run = res.Logged(s)
	} else {
		run = runner.LoggedFailure(s, failed)
	}
	if err := v.session.Append(workspace.Record{Kind: workspace.KindRun, Run: run}); err != nil {
		v.wrong(cli.CleanLine(err.Error()))
	}
	if res == nil || res.ExitCode != 0 || v.opt.checkpoint == "" {
		return
	}
	if err := v.keep(ctx); err != nil {
		v.wrong(cli.CleanLine(err.Error()))
	}
}

// keep makes the checkpoint that was asked for.
func (v *visit) keep(ctx context.Context) error {
	if err := v.lease.Close(); err != nil { // what was promised to the run is free for the copy
		return err
	}
	name := v.opt.checkpoint
	if name == checkpointNow {
		name = ""
	}
	info, err := v.session.Checkpoint(ctx, name)
	if err != nil {
		return err
	}
	v.at.Checkpoint = info
	v.say(checkpointWords(info))
	return nil
}

func checkpointWords(info *workspace.CheckpointInfo) string {
	text := fmt.Sprintf("checkpoint %s: %s, %s", info.Name, cli.Count(info.Files, "file"), byteCount(int(info.Bytes)))
	if info.Skipped > 0 {
		text += fmt.Sprintf("; %d left out (%s)", info.Skipped, cli.CleanLine(info.Example))
	}
	return text
}

func (v *visit) close() error {
	if v == nil || v.root == nil {
		return nil
	}
	var err error
	if v.lease != nil {
		err = v.lease.Close()
	}
	return errors.Join(err, v.root.Close())
}

// customersError says that a script that is for no customer could write to what customers have.
type customersError struct{ workspace, customers string }

func (e *customersError) Error() string {
	return fmt.Sprintf("the workspace %q and the customers' folders in %q lie one in the other: a script could change what other customers have, and their logs", e.workspace, e.customers)
}

// Hint is what a person can do about it.
func (e *customersError) Hint() string {
	return "run it for a customer with --customer, or name a folder of its own for what it writes"
}

// trusted are the files and folders that scripts have no part in: the project's, and, where there are any, customers' folders.
func (o *customersOptions) trusted(app *cli.App, p *project) []string {
	dir := o.folder(app, p.base)
	if _, err := os.Stat(dir); err != nil {
		return p.trusted
	}
	return append(slices.Clone(p.trusted), dir)
}

// refuseCustomers makes sure that customers' folders are not in the reach of a script that is for none of them.
func refuseCustomers(customers, workspace string) error {
	dir, err := filepath.EvalSymlinks(customers)
	if err != nil {
		return nil // there are none
	}
	at := workspace
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	for _, pair := range [][2]string{{dir, at}, {at, dir}} {
		if rel, err := filepath.Rel(pair[0], pair[1]); err == nil && filepath.IsLocal(rel) {
			return &customersError{workspace: workspace, customers: customers}
		}
	}
	return nil
}
