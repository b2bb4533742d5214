package customers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// CustomerSkills returns the folder of skills of the run's customer, or "" if there is no customer. If create is set, it creates
// a missing customer: every run has a folder of skills, so that no script can put something else in its place.
func (o *Flags) CustomerSkills(app *cli.App, p *project.Project, create bool) (string, error) {
	if !o.Wanted() {
		return "", nil
	}
	root, err := o.Open(app, p.Base, p.State, p.Upstreams, p.Policy.Customers(), nil)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if o.Customer == "" {
		s, err := root.FindSession(o.Session)
		if err != nil {
			return "", err
		}
		return s.Customer().Skills(), nil
	}
	open := root.Find
	if create && !o.Resumes {
		open = root.Customer
	}
	c, err := open(o.Customer)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the run reports it
	}
	if err != nil {
		return "", err
	}
	return c.Skills(), nil
}

// checkpointNow and restoreLast are the values of --checkpoint and --restore without a name.
const (
	checkpointNow = "now"
	restoreLast   = "last"
)

// Flags are the flags of a run for a customer.
type Flags struct {
	FolderFlags
	Customer   string
	Session    string
	Task       string
	TaskID     string // of Task, or of the task that an earlier run has logged
	Checkpoint string
	Resumes    bool // the session must exist
	Restore    string
}

// Bind adds the flags to a command.
func (o *Flags) Bind(f *pflag.FlagSet) {
	f.Var(flags.ID(&o.Customer, "customer", "id"), "customer", "run in this customer's folder (created if missing) and log the run there")
	if !o.Resumes {
		f.Var(flags.ID(&o.Session, "session", "id"), "session", "log the run in this session (created if missing; default: a new one)")
	}
	f.Var(flags.Text(&o.Task, "text"), "task", "purpose of the run, for the session's log")
	f.VarPF(flags.ID(&o.Checkpoint, "checkpoint", ""), "checkpoint", "", "save a checkpoint of the customer's state if the script exits with 0 (=NAME names it)").NoOptDefVal = checkpointNow
	if o.Resumes {
		f.VarPF(flags.ID(&o.Restore, "checkpoint", ""), "restore", "", "restore a checkpoint before the run: the session's last, or =NAME").NoOptDefVal = restoreLast
	}
}

// Wanted reports whether the run is for a customer.
func (o *Flags) Wanted() bool { return o.Customer != "" || o.Resumes }

// Validate reports conflicting flags.
func (o *Flags) Validate(set *pflag.FlagSet) error {
	if o.Wanted() {
		if set.Changed("workspace") {
			return flags.Usage("--customer and --workspace both say where the script may write: give one of the two")
		}
		return nil
	}
	for _, name := range []string{"session", "task", "checkpoint"} {
		if set.Changed(name) {
			return flags.Usage("--%s is for runs of a customer: name the customer with --customer", name)
		}
	}
	return nil
}

// LeasedRun is a run for a customer: it holds the customer's state and logs the result.
type LeasedRun struct {
	opt     *Flags
	root    *customer.Root
	lease   *customer.Lease
	Session *customer.Session
	at      Logged
	say     func(line string)
	Warn    func(line string) // says what went wrong
}

// LeaseRun leases the customer's state for a run, and sets the script's workspace and disk limit. The lease is nil if the run is
// not for a customer. The caller closes it.
func (o *Flags) LeaseRun(ctx context.Context, app *cli.App, project *project.Project, s *runner.Script, say func(line string)) (v *LeasedRun, err error) {
	if !o.Wanted() {
		return nil, RefuseCustomers(o.Folder(app, project.Base), s.Workspace)
	}
	v = &LeasedRun{opt: o, say: say, Warn: say}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.Close())
			v = nil
		}
	}()
	if v.root, err = o.Open(app, project.Base, project.State, project.Upstreams, project.Policy.Customers(), say); err != nil {
		return v, err
	}
	if v.Session, err = o.Find(v.root); err != nil {
		return v, err
	}
	c := v.Session.Customer()
	if err = o.PutBack(ctx, v.Session, say); err != nil {
		return v, err
	}
	if v.lease, err = c.Begin(ctx, s.Limits.Disk); err != nil {
		return v, err
	}
	s.Workspace, s.Limits.Disk, s.Capture = v.lease.Files(), v.lease.Disk, true
	s.Calls.Subject.Customer, s.Calls.Subject.Session = c.ID(), v.Session.ID()
	v.at = Logged{Customer: c.ID(), Session: v.Session.ID(), Dir: v.lease.Files()}
	for _, m := range v.lease.Moved {
		say(cli.EscapeLine(m.String()))
	}
	say(fmt.Sprintf("session %s of customer %s", v.Session.ID(), c.ID()))
	// A log does not know whose data it has, and the parts of a workflow must have the same variables.
	if strings.Contains(s.Code, runner.SessionVariable) && s.Calls.Journal == nil && !project.Policy.UsesTaint(c.ID()) {
		if err = GiveWork(v.Session, s); err != nil {
			return v, err
		}
	}
	if o.Task != "" {
		err = o.LogTask(v.Session)
	}
	return v, err
}

// GiveWork sets the script's variable [runner.SessionVariable], unless the person has set it or nothing was done.
func GiveWork(from *customer.Session, s *runner.Script) error {
	if _, set := s.Vars[runner.SessionVariable]; set {
		return nil
	}
	value, err := from.Earlier()
	if err == nil && value != nil {
		s.Vars = maps.Clone(s.Vars)
		if s.Vars == nil {
			s.Vars = map[string]json.RawMessage{}
		}
		s.Vars[runner.SessionVariable] = value
	}
	return err
}

// LogTask appends the task to the session's log, and sets its id.
func (o *Flags) LogTask(s *customer.Session) error {
	o.TaskID = strings.ToLower(rand.Text()[:12])
	return s.Append(customer.Record{Kind: customer.KindTask, ID: o.TaskID, Task: o.Task})
}

// Find returns the run's session. It creates a missing session, unless the run resumes one.
func (o *Flags) Find(root *customer.Root) (*customer.Session, error) {
	if o.Resumes {
		return findSession(root, o.Customer, o.Session)
	}
	if o.Session != "" {
		if err := customer.CheckID("session", o.Session); err != nil { // before a customer is created
			return nil, err
		}
	}
	c, err := root.Customer(o.Customer)
	if err != nil {
		return nil, err
	}
	if o.Session != "" {
		if s, err := c.Session(o.Session); !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	s, err := c.NewSession(customer.Meta{ID: o.Session, Title: o.Task})
	if errors.Is(err, fs.ErrExist) { // another run has just created it
		return c.Session(o.Session)
	}
	return s, err
}

// PutBack restores the requested checkpoint.
func (o *Flags) PutBack(ctx context.Context, s *customer.Session, say func(string)) error {
	if o.Restore == "" {
		return nil
	}
	name := o.Restore
	if name == restoreLast {
		name = ""
	}
	info, err := s.Restore(ctx, name)
	if err != nil {
		return err
	}
	say(fmt.Sprintf("restored checkpoint %s, %s", info.Name, cli.Count(info.Files, "file")))
	return nil
}

// Logged says in a result where the run is logged.
type Logged struct {
	Customer   string                   `json:"customer"`
	Session    string                   `json:"session"`
	Dir        string                   `json:"dir"` // what the script wrote to
	Checkpoint *customer.CheckpointInfo `json:"checkpoint,omitempty"`
}

// Place returns where the run is logged, or nil if it is not.
func (v *LeasedRun) Place() *Logged {
	if v == nil {
		return nil
	}
	return &v.at
}

// Explain adds to the result of a script that hit the disk limit that the limit was the rest of the customer's quota.
func (v *LeasedRun) Explain(res *runner.Result, disk int64) {
	if v == nil || res == nil || v.lease.Disk >= disk || !slices.Contains(res.LimitsHit, sandbox.LimitDisk) {
		return
	}
	c := v.Session.Customer()
	text := fmt.Sprintf("that is what was left of the quota of customer %s, %s (--quota)", c.ID(), flags.Bytes(int(c.Quota())))
	res.Message = strings.TrimPrefix(res.Message+"; "+text, "; ")
}

// Log appends the run to the session's log. A failure to log does not change the run's result; it is printed.
func (v *LeasedRun) Log(ctx context.Context, s *runner.Script, res *runner.Result, failed error) {
	if v == nil || res == nil && failed == nil {
		return
	}
	run := LoggedRun(s, res, failed)
	run.TaskID = v.opt.TaskID
	if err := v.Session.Append(customer.Record{Kind: customer.KindRun, Run: run}); err != nil {
		v.Warn(cli.EscapeLine(err.Error()))
	}
	if res == nil || res.ExitCode != 0 || v.opt.Checkpoint == "" {
		return
	}
	if err := v.keep(ctx); err != nil {
		v.Warn(cli.EscapeLine(err.Error()))
	}
}

// LoggedRun returns the entry of a run in a log.
func LoggedRun(s *runner.Script, res *runner.Result, failed error) *customer.Run {
	if res != nil {
		return res.Logged(s)
	}
	return runner.LoggedFailure(s, failed)
}

// keep creates the requested checkpoint.
func (v *LeasedRun) keep(ctx context.Context) error {
	if err := v.lease.Close(); err != nil { // frees the run's reservation for the copy
		return err
	}
	name := v.opt.Checkpoint
	if name == checkpointNow {
		name = ""
	}
	info, err := v.Session.Checkpoint(ctx, name)
	if err != nil {
		return err
	}
	v.at.Checkpoint = info
	v.say(checkpointWords(info))
	return nil
}

// Close ends the lease of the workspace.
func (v *LeasedRun) Close() error {
	if v == nil || v.root == nil {
		return nil
	}
	var err error
	if v.lease != nil {
		err = v.lease.Close()
	}
	return errors.Join(err, v.root.Close())
}

// Trusted returns the files and folders that scripts must not change: the project's, and the folder of customers if it exists.
func (o *FolderFlags) Trusted(app *cli.App, p *project.Project) []string {
	dir := o.Folder(app, p.Base)
	if _, err := os.Stat(dir); err != nil {
		return p.Trusted
	}
	return append(slices.Clone(p.Trusted), dir)
}

// RefuseCustomers refuses a workspace that contains customers' folders or is in one of them.
func RefuseCustomers(customers, workspace string) error {
	if _, err := os.Stat(customers); err != nil {
		return nil // there are none
	}
	if project.IsBelow(customers, workspace) || project.IsBelow(workspace, customers) {
		return cli.WithHint(fmt.Errorf("the workspace %q and the customers' folders in %q overlap: a script could change other customers' files and logs", workspace, customers),
			"run it for a customer with --customer, or give it a separate --workspace")
	}
	return nil
}
