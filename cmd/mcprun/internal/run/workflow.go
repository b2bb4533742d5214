package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/workflow"
	"github.com/mcpgen/mcpgen/runner/workflow/document"
)

const (
	// lookTime is how often the command looks whether a workflow asks something.
	lookTime = 200 * time.Millisecond
	// closeTime bounds the end of the process.
	closeTime = 10 * time.Second
)

// workflowIndifferent are the flags that do not say what a workflow's calls do. They are those of each command.
var workflowIndifferent = []string{
	"id", "input", "var", "vars", "eval", "language", "json", "verbose", "quiet", "trace", "elicit", "debug", "help", "all", "state", "audit", "trust-config", "config", "daemon", "restore",
}

// workflowCommand is `mcprun workflow run` or `mcprun workflow resume`.
type workflowCommand struct {
	*Options
	id       string
	input    json.RawMessage
	document *document.Document // nil: the workflow is a script

	con     *term.Console
	project *project.Project
	at      *Host
	script  runner.Script
	engine  *workflow.Engine

	running sync.Mutex // held while a part runs: parts share the terminal
	last    *runner.Result
}

// settings are what is kept of the command line for parts in other processes.
type settings struct {
	Flags map[string][]string        `json:"flags,omitempty"`
	Vars  map[string]json.RawMessage `json:"vars,omitempty"`
}

// NewWorkflowRunCommand returns the command workflow run.
func NewWorkflowRunCommand(app *cli.App, at resources.Provider) *cobra.Command {
	w := &workflowCommand{Options: &Options{App: app, Resources: at}}
	cmd := &cobra.Command{
		Use: "run FILE", Short: "Run a script or a workflow document that survives the death of its process",
		Long: `Runs a script, or a workflow document in YAML or JSON, as a workflow: what its calls and steps returned is kept, so that it can be resumed
where it was. While it only waits, nothing runs. Ctrl-C leaves it to be resumed. Its input is the
variable input. All flags of mcprun run are accepted: see mcprun run --help --all.`,
		Example: "  mcprun workflow run copy.ts --input contacts=@contacts.json\n  mcprun workflow run --id onboarding-42 onboard.ts --input '{\"customer\": 42}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if w.args = args; len(args) != 1 && w.code == "" {
				return cli.Usage(cmd, "name one script; its input is given with --input")
			}
			var err error
			if len(args) == 1 && isDocument(args[0]) {
				w.document, err = ReadDocument(app, args[0])
			} else {
				err = w.readSource(cmd.Context(), &w.Base)
			}
			if err != nil {
				return err
			}
			return w.run(cmd.Context(), w.start)
		},
	}
	w.Bind(cmd)
	cmd.Flags().Var(flags.Text(&w.id, "id"), "id", "name the workflow (default: a random name)")
	cmd.Flags().Var(flags.New("json", func() string { return string(w.input) }, w.setInput), "input", "the variable input: JSON, @FILE with JSON, or NAME=VALUE, which may be repeated")
	return cmd
}

// NewWorkflowResumeCommand returns the command workflow resume.
func NewWorkflowResumeCommand(app *cli.App, at resources.Provider) *cobra.Command {
	w := &workflowCommand{Options: &Options{App: app, Resources: at}}
	cmd := &cobra.Command{
		Use: "resume ID", Short: "Continue a workflow whose process has ended, and wait for its end",
		Long: `Continues a workflow with the flags that it began with. If a process runs it, this one waits for its
end. After the death of a process it takes up to 15 seconds until another one continues.`,
		Example: "  mcprun workflow resume onboarding-42",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.id = args[0]
			return w.resume(cmd.Context())
		},
	}
	w.Bind(cmd)
	return cmd
}

// setInput sets the input, or one member of it.
func (w *workflowCommand) setInput(text string) error {
	value := []byte(text)
	name, rest, member := strings.Cut(text, "=")
	if member = member && !json.Valid(value); member {
		value = []byte(rest)
	}
	if file, ok := strings.CutPrefix(string(value), "@"); ok {
		var err error
		if value, err = os.ReadFile(w.App.Path(file)); err != nil {
			return err
		}
		if !json.Valid(value) {
			return fmt.Errorf("%q is not JSON", file)
		}
	}
	if !member {
		if w.input = bytes.TrimSpace(value); !json.Valid(value) {
			return fmt.Errorf("%q is neither JSON nor NAME=VALUE", text)
		}
		return nil
	}
	all := map[string]json.RawMessage{}
	if len(w.input) > 0 && json.Unmarshal(w.input, &all) != nil {
		return fmt.Errorf("%q is a member, and the input is not an object", name)
	}
	all[name] = AsJSON(string(value))
	var err error
	w.input, err = json.Marshal(all)
	return err
}

// run opens the project and the engine, begins a workflow or finds it, and waits for its end.
func (w *workflowCommand) run(ctx context.Context, begin func(context.Context) error) error {
	w.con, w.flow = term.NewConsole(w.App), newPrinted()
	if w.Check || w.plan != "" || w.replay != "" || w.record != "" || w.Calls.DryRun {
		return flags.Usage("a workflow cannot be combined with --check, --dry-run, --plan, --record or --replay")
	}
	var err error
	if w.project, err = w.openProject(ctx, w.con); err != nil {
		return err
	}
	defer w.project.Close()
	if w.document != nil {
		if err := w.compile(ctx); err != nil {
			return err
		}
	}
	w.script = w.Base
	w.script.Stdin = nil // it could not be read again
	if err := w.describe(ctx, w.con, w.project, &w.script); err != nil {
		return err
	}
	if err := w.admit(ctx, w.con, w.project, &w.script, w.Wanted()); err != nil {
		return err
	}
	var leave func()
	if w.at, leave, err = w.Host(ctx, w.project); err != nil {
		return err
	}
	defer leave()
	w.WarnMisspelt(w.at, w.printer(w.con))
	if err := w.open(ctx); err != nil {
		return err
	}
	defer func() {
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if err := w.engine.Close(over); err != nil {
			w.con.Say("mcprun: " + cli.EscapeLine(err.Error()))
		}
	}()
	if err := w.engine.Launch(ctx); err != nil {
		return err
	}
	if err := begin(ctx); err != nil {
		return err
	}
	return w.wait(ctx)
}

// open opens the engine.
func (w *workflowCommand) open(ctx context.Context) error {
	secret, err := customers.KeyFor(w.App, w.script.Workspace)
	if err != nil {
		return err
	}
	kept, err := w.shared.Open(ctx)
	if err != nil {
		return err
	}
	mark, err := w.Mark(w.project, "mcprun workflow", w.Cmd.Flags(), secret, workflowIndifferent)
	if err != nil {
		return err
	}
	work, err := w.shared.Engine(ctx, durable.Options{Group: "workflow-" + mark, Logger: w.project.Log})
	if err != nil {
		return err
	}
	w.engine, err = workflow.New(workflow.Options{Durable: work, State: kept, Secret: secret, Run: w.part, Digest: w.digestOf, Ready: ready})
	if err != nil {
		err = errors.Join(err, work.Close(ctx))
	}
	return err
}

func (w *workflowCommand) digestOf(ctx context.Context, p *workflow.Program) (string, error) {
	s := w.script
	(&workflow.Part{Program: p}).Apply(&s)
	return w.at.Runner.Digest(ctx, &s)
}

// start starts a workflow.
func (w *workflowCommand) start(ctx context.Context) error {
	s := settings{Flags: map[string][]string{}, Vars: w.script.Vars}
	w.Cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(workflowIndifferent, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		s.Flags[f.Name] = values
	})
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	program := &workflow.Program{Name: w.script.Name, Code: w.script.Code, Language: w.script.Language, Dir: w.script.Dir}
	if w.document != nil {
		program.Name, program.Document = filepath.Base(w.document.File), w.document.Text
	}
	w.id = cmp.Or(w.id, workflow.NewID()) // its part may run before Start has returned
	w.workflow = w.id
	_, err = w.engine.Start(ctx, program, workflow.Start{ID: w.id, Customer: w.Customer, Input: w.input, Settings: raw})
	if errors.Is(err, durable.ErrExists) {
		return cli.WithHint(fmt.Errorf("there is a workflow %s already", w.id), "see mcprun workflow show, and continue it with mcprun workflow resume")
	}
	if err != nil {
		return err
	}
	w.printer(w.con)("workflow " + w.id)
	return nil
}

// resume continues a workflow with its settings, or shows how it has ended.
func (w *workflowCommand) resume(ctx context.Context) error {
	w.workflow = w.id
	opened, err := OpenWorkflows(ctx, w.App, &w.LocationFlags, &w.State.PlaceFlag, w.Cmd.Flags())
	if err != nil {
		return err
	}
	status, err := opened.Get(ctx, w.id)
	if err := errors.Join(err, opened.Close(ctx)); err != nil {
		return err
	}
	if status.State.Ended() {
		return w.show(status)
	}
	var s settings
	if err := json.Unmarshal(status.Settings, &s); err != nil {
		return fmt.Errorf("read the settings of the workflow %s: %w", w.id, err)
	}
	for name, values := range s.Flags {
		f := w.Cmd.Flags().Lookup(name)
		if f == nil || f.Changed {
			continue
		}
		for _, value := range values {
			if err := w.Cmd.Flags().Set(name, value); err != nil {
				return fmt.Errorf("--%s of the workflow %s: %w", name, w.id, err)
			}
		}
	}
	maps.Copy(w.single, s.Vars)
	if w.Customer == "" {
		w.Customer = status.Customer
	}
	return w.run(ctx, func(ctx context.Context) error { return w.engine.Resume(ctx, w.id) })
}

// part runs a part of a workflow. Parts of others than the command's have no terminal.
func (w *workflowCommand) part(ctx context.Context, part *workflow.Part) (*runner.Result, error) {
	w.running.Lock()
	defer w.running.Unlock()
	o := *w.Options
	s := w.script
	part.Apply(&s)
	con := w.con
	if o.Customer = part.Customer; o.Customer != "" && o.Session == "" {
		o.Session = part.ID
	}
	if part.ID != w.id {
		o.Quiet, o.JSON, o.flow, o.elicit = true, true, nil, term.ElicitDecline
	}
	res, err := o.runFor(ctx, con, w.project, &s, w.at)
	w.at.Runner.NotStarted(ctx, &s, err)
	if part.ID == w.id {
		w.last, w.shown, w.logged, w.personal = res, o.shown, o.logged, o.personal
		err = w.project.ExplainNoTree(s.Code, res, err)
	}
	return res, err
}

// wait waits for the end of the workflow, asks what it asks a person, and reports how it ended.
func (w *workflowCommand) wait(ctx context.Context) error {
	tty := term.TerminalName()
	if w.Resources.InDaemon() {
		tty = ""
	}
	asked, err := term.NewElicitor(w.App, w.con, tty, w.elicit)
	if err != nil {
		return err
	}
	defer asked.Close()
	asking, stop := context.WithCancel(ctx)
	var questions sync.WaitGroup
	questions.Go(func() {
		told := map[string]bool{}
		for asking.Err() == nil {
			select {
			case <-asking.Done():
			case <-time.After(lookTime):
				w.look(asking, asked, told)
			}
		}
	})
	status, err := w.engine.Wait(ctx, w.id)
	stop()
	questions.Wait()
	if ctx.Err() != nil {
		w.con.Say("mcprun: the workflow goes on with: mcprun workflow resume " + w.id)
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	w.con.Close()
	return w.show(status)
}

// look asks the questions of the workflow that were not asked yet, and says what else it waits for.
func (w *workflowCommand) look(ctx context.Context, asked *term.Elicitor, told map[string]bool) {
	status, err := w.engine.Get(ctx, w.id)
	if err != nil || status.State != durable.Waiting {
		return // tried again
	}
	if changed := (&workflow.ChangedError{ID: w.id, Name: status.Name}); status.Refused && !told["!"] {
		told["!"] = true
		w.con.Say("mcprun: " + cli.EscapeLine(changed.Error()+"; "+changed.Hint()))
	}
	for _, s := range status.Waits() {
		if told[s.Topic] {
			continue
		}
		switch told[s.Topic] = true; s.Kind {
		case journal.StepWait:
			w.printer(w.con)(fmt.Sprintf("waits for a value: mcprun workflow send %s %s JSON", w.id, cli.EscapeLine(s.Topic)))
		case journal.StepAsk:
			q, err := chain.Question(&s)
			if err != nil {
				continue
			}
			reply, err := asked.Ask(ctx, q)
			if err == nil && reply == nil {
				w.printer(w.con)(fmt.Sprintf("waits for an answer: %s: mcprun workflow answer %s", cli.EscapeLine(cli.Shorten(s.Name, 300)), w.id))
				continue
			}
			if err == nil {
				err = w.engine.Answer(ctx, w.id, &s, reply)
			}
			if err != nil && ctx.Err() == nil {
				w.con.Say("mcprun: " + cli.EscapeLine(err.Error()))
				told[s.Topic] = !errors.Is(err, workflow.ErrFits)
			}
		}
	}
}

// show reports how the workflow ended, as a run does.
func (w *workflowCommand) show(status *workflow.Status) error {
	res := w.last
	switch {
	case status.State == durable.Cancelled:
		return cli.WithHint(fmt.Errorf("the workflow %s was cancelled", w.id), "start another one")
	case status.Outcome == nil:
		return fmt.Errorf("the workflow %s has ended as %s", w.id, status.State)
	case res == nil || res.Cause != status.Outcome.Cause: // another process has run its last part
		out := status.Outcome
		res = &runner.Result{ExitCode: out.ExitCode, Cause: out.Cause, Message: out.Message, Value: out.Result, LimitsHit: []string{}, Calls: []chain.CallRecord{}, Files: []string{}}
	}
	return w.report(res, status.Name)
}

// Workflows are those of a project's state, for commands that run none.
type Workflows struct {
	*workflow.Engine
	shared *state.Shared
}

// OpenWorkflows opens the workflows of a project. set are the flags of the command. If there is no state yet, the error wraps fs.ErrNotExist.
// The caller closes them.
func OpenWorkflows(ctx context.Context, app *cli.App, at *project.LocationFlags, place *state.PlaceFlag, set *pflag.FlagSet) (*Workflows, error) {
	cfg, err := at.LoadFor(ctx, app, set)
	if err != nil {
		return nil, err
	}
	base := app.Dir
	if cfg != nil {
		base = cfg.Dir
	}
	secret, err := customers.Key(app)
	if err != nil {
		return nil, err
	}
	shared := place.Share(app, base, project.NameOf(cfg))
	kept, err := shared.Existing(ctx)
	if err != nil {
		return nil, err
	}
	work, err := shared.Engine(ctx, durable.Options{})
	if err == nil {
		var e *workflow.Engine
		if e, err = workflow.New(workflow.Options{Durable: work, State: kept, Secret: secret}); err == nil {
			return &Workflows{e, shared}, nil
		}
		err = errors.Join(err, work.Close(ctx))
	}
	return nil, errors.Join(err, shared.Close())
}

// Close closes the engine and the state.
func (w *Workflows) Close(ctx context.Context) error {
	return errors.Join(w.Engine.Close(ctx), w.shared.Close())
}
