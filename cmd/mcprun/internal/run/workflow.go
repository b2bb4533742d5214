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
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/workflow"
	"github.com/mcpgen/mcpgen/runner/workflow/document"
)

const (
	// lookTime is how often the command looks whether a workflow asks something.
	lookTime = 200 * time.Millisecond
	// closeTime bounds the end of the process.
	closeTime = 10 * time.Second
	// partTime bounds a part of a workflow without --timeout.
	partTime = 24 * time.Hour
)

// refused are the flags of a run that no workflow has, and begun those that one has from its beginning.
var (
	refused = []string{"check", "dry-run", "plan", "record", "replay", "replay-match", "daemon"}
	begun   = []string{"eval", "language", "var", "vars"}
)

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
	resumes bool

	running sync.Mutex // held while a part runs: parts share the terminal
	last    *runner.Result
	looked  int64 // the size of the journal when it was looked into last
}

// settings are what is kept of the command that began a workflow, for those that resume it.
type settings struct {
	Flags map[string][]string `json:"flags,omitempty"` // that were given
	// Decided is what flags and settings together say about calls, without limits, by the flag's name.
	Decided map[string]string `json:"decided"`
	// Program says that a program read its output: then personal data is hidden, if nothing else is set.
	Program bool `json:"program,omitempty"`
}

// NewWorkflowRunCommand returns the command workflow run.
func NewWorkflowRunCommand(app *cli.App, at resources.Provider) *cobra.Command {
	return newWorkflowRun(&workflowCommand{Options: &Options{App: app, Resources: at}})
}

func newWorkflowRun(w *workflowCommand) *cobra.Command {
	w.without = refused
	w.own = flags.Set(func(f *pflag.FlagSet) {
		f.Var(flags.Text(&w.id, "id"), "id", "name the workflow (default: a random name)")
		f.Var(flags.New("json", func() string { return string(w.input) }, w.setInput), "input", "the variable input: JSON, @FILE with JSON, or NAME=VALUE, which may be repeated")
	})
	cmd := &cobra.Command{
		Use: "run FILE", Short: "Run a script or a workflow document that survives the death of its process",
		Long: `Runs a script, or a workflow document in YAML or JSON, as a workflow: what its calls and steps returned is kept, so that it can be resumed
where it was. While it only waits, nothing runs. Ctrl-C leaves it to be resumed. Its input is the
variable input.`,
		Example: "  mcprun workflow run copy.ts --input contacts=@contacts.json\n  mcprun workflow run --id onboarding-42 onboard.ts --input '{\"customer\": 42}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			w.id = cmp.Or(w.id, workflow.NewID())
			if w.args = args; len(args) != 1 && w.code == "" {
				return cli.Usage(cmd, "name one script; its input is given with --input")
			}
			var err error
			if status, settings := w.former(cmd.Context()); status != nil {
				return w.goOn(cmd.Context(), status, settings)
			}
			if len(args) == 1 && isDocument(args[0]) {
				w.document, err = ReadDocument(w.App, args[0])
			} else {
				err = w.readSource(cmd.Context(), &w.Base)
			}
			if err != nil {
				return err
			}
			return w.run(cmd.Context(), w.start)
		},
	}
	w.bind(cmd)
	return cmd
}

// NewWorkflowResumeCommand returns the command workflow resume.
func NewWorkflowResumeCommand(app *cli.App, at resources.Provider) *cobra.Command {
	w := &workflowCommand{Options: &Options{App: app, Resources: at, without: slices.Concat(refused, begun)}}
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
	w.bind(cmd)
	return cmd
}

// bind adds the flags of a run, with another default of --timeout.
func (w *workflowCommand) bind(cmd *cobra.Command) {
	w.Bind(cmd)
	w.Base.Timeout = partTime
	f := cmd.Flags().Lookup("timeout")
	f.DefValue = f.Value.String()
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
func (w *workflowCommand) run(ctx context.Context, begin func(context.Context) (part int, err error)) error {
	w.con, w.flow = term.NewConsole(w.App), newPrinted()
	if w.Check || w.plan != "" || w.replay != "" || w.record != "" || w.Calls.DryRun {
		return cli.Usage(w.Cmd, "a workflow cannot be combined with --check, --dry-run, --plan, --record or --replay")
	}
	var err error
	if w.project, err = w.openProject(ctx, w.con); err != nil {
		return err
	}
	defer w.project.Close()
	if err := w.decide(); err != nil {
		return err
	}
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
	if err := w.admit(ctx, w.con, w.project, &w.script, w.Wanted() || w.schedule != nil); err != nil {
		return err
	}
	if w.schedule != nil {
		w.schedule.Begun = true
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
	part, err := begin(ctx)
	if err != nil {
		return err
	}
	return w.wait(ctx, part)
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
	work, err := w.shared.Engine(ctx, durable.Options{Group: workflow.Group(w.id), Logger: w.project.Log})
	if err != nil {
		return err
	}
	w.engine, err = workflow.New(workflow.Options{Durable: work, State: kept, Secret: secret, Run: w.part, Digest: w.digestOf, Ready: WorkflowReady})
	if err != nil {
		err = errors.Join(err, work.Close(ctx))
	}
	if err == nil && !w.resumes {
		if _, found := work.Get(ctx, w.id); found == nil { // it would be continued with the flags of this command
			err = errors.Join(w.exists(), w.engine.Close(ctx))
		}
	}
	return err
}

func (w *workflowCommand) exists() error {
	return cli.WithHint(fmt.Errorf("there is a workflow %s already", w.id), "see mcprun workflow show, and continue it with mcprun workflow resume")
}

func (w *workflowCommand) digestOf(ctx context.Context, p *workflow.Program) (string, error) {
	s := w.script
	(&workflow.Part{Program: p}).Apply(&s)
	return w.at.Runner.Digest(ctx, &s)
}

// decide makes the settings of a new workflow, or checks that those of this command are the ones that an older one began with.
func (w *workflowCommand) decide() error {
	if w.kept == nil {
		w.kept = &settings{Flags: map[string][]string{}, Program: w.JSON}
		w.kept.Decided = w.decisions()
		w.Cmd.Flags().Visit(func(f *pflag.Flag) {
			if slices.Contains(Indifferent, f.Name) && f.Name != "audit" && f.Name != "parallel" {
				return
			}
			values := []string{f.Value.String()}
			if several, ok := f.Value.(pflag.SliceValue); ok {
				values = several.GetSlice()
			}
			w.kept.Flags[f.Name] = values
		})
		return nil
	}
	var differ []string
	now := w.decisions()
	both := maps.Clone(now)
	maps.Copy(both, w.kept.Decided)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if before := w.kept.Decided[name]; before != now[name] {
			differ = append(differ, fmt.Sprintf("--%s was %s and is %s", name, w.valueWords(name, before), w.valueWords(name, now[name])))
		}
	}
	if differ == nil {
		return nil
	}
	return cli.WithHint(fmt.Errorf("the workflow %s began with other settings: %s", w.id, strings.Join(differ, "; ")),
		"give the flags as they were, or restore mcpgen.yaml and the environment; or cancel it (mcprun workflow cancel "+w.id+") and start another")
}

// decisions returns what flags and settings together say about calls, without limits, which may change while a workflow runs.
func (w *workflowCommand) decisions() map[string]string {
	all := w.decided(w.project, w.Cmd.Flags())
	w.Shared.Limits.VisitAll(func(f *pflag.Flag) { delete(all, f.Name) })
	for _, name := range []string{"call-timeout", "approve-time", "max-result", "max-output"} {
		delete(all, name)
	}
	return all
}

// valueWords returns the value of a flag for a person.
func (w *workflowCommand) valueWords(name, value string) string {
	if f := w.Cmd.Flags().Lookup(name); value == "" && f != nil {
		value = f.DefValue
	}
	if value = strings.TrimSpace(value); value == "" || value == "[]" {
		return "not given"
	}
	return cli.EscapeLine(ident.Clip(value, 200))
}

// start starts a workflow.
func (w *workflowCommand) start(ctx context.Context) (part int, err error) {
	raw, err := json.Marshal(w.kept)
	if err != nil {
		return 0, err
	}
	program := &workflow.Program{Name: w.script.Name, Code: w.script.Code, Language: w.script.Language, Dir: w.script.Dir, Vars: w.script.Vars}
	if w.document != nil {
		program.Name, program.Document = filepath.Base(w.document.File), w.document.Text
	}
	w.workflow = w.id
	_, err = w.engine.Start(ctx, program, workflow.Start{ID: w.id, Customer: w.Customer, Input: w.input, Settings: raw})
	if errors.Is(err, durable.ErrExists) {
		return 0, w.exists()
	}
	if err != nil {
		return 0, err
	}
	w.printer(w.con)("workflow " + w.id)
	return 0, nil
}

// find returns the workflow of the command's id, and the settings of its project.
func (w *workflowCommand) find(ctx context.Context) (*workflow.Status, *config.PII, error) {
	opened, err := OpenWorkflows(ctx, w.App, &w.LocationFlags, &w.State.PlaceFlag, w.Cmd.Flags())
	if err != nil {
		return nil, nil, err
	}
	settings := opened.pii
	status, err := opened.Get(ctx, w.id)
	return status, settings, errors.Join(err, opened.Close(ctx))
}

// resume continues a workflow with its settings, or shows how it has ended.
func (w *workflowCommand) resume(ctx context.Context) error {
	status, settings, err := w.find(ctx)
	if err != nil {
		return err
	}
	for _, name := range begun {
		if w.Cmd.Flags().Changed(name) {
			return cli.Usage(w.Cmd, "--%s is what the workflow %s began with: leave it out", name, w.id)
		}
	}
	return w.goOn(ctx, status, settings)
}

// goOn is resume for a workflow that was found, with the settings of its project.
func (w *workflowCommand) goOn(ctx context.Context, status *workflow.Status, settings *config.PII) (err error) {
	w.workflow, w.resumes = w.id, true
	if !status.State.Ended() && status.Group != workflow.Group(w.id) {
		if status.Stop != nil {
			return w.tryAgain(ctx)
		}
		return cli.WithHint(fmt.Errorf("mcprun serve runs the workflow %s", w.id), "start mcprun serve with the flags that it had, which continues it")
	}
	if w.kept, err = settingsOf(status); err != nil {
		return err
	}
	for name, values := range w.kept.Flags {
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
	if w.Cmd.Flags().Changed("customer") && w.Customer != status.Customer {
		return cli.Usage(w.Cmd, "the workflow %s is not of the customer %s: leave --customer out", w.id, w.Customer)
	}
	w.Customer = status.Customer
	if status.State.Ended() {
		return w.show(status, settings)
	}
	return w.run(ctx, func(ctx context.Context) (int, error) { return w.engine.Resume(ctx, w.id) })
}

// tryAgain has the process that runs a workflow try again.
func (w *workflowCommand) tryAgain(ctx context.Context) error {
	opened, err := OpenWorkflows(ctx, w.App, &w.LocationFlags, &w.State.PlaceFlag, w.Cmd.Flags())
	if err != nil {
		return err
	}
	_, err = opened.Resume(ctx, w.id)
	if err = errors.Join(err, opened.Close(ctx)); err == nil && !w.Quiet {
		term.NewConsole(w.App).Say("mcprun: mcprun serve continues the workflow, if it runs with the flags that it had")
	}
	return err
}

// part runs a part of the workflow.
func (w *workflowCommand) part(ctx context.Context, part *workflow.Part) (*runner.Result, error) {
	w.running.Lock()
	defer w.running.Unlock()
	if w.schedule != nil && w.schedule.Turn != nil {
		leave, err := w.schedule.Turn(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	o := *w.Options
	s := w.script
	part.Apply(&s)
	if o.Customer != "" && o.Session == "" {
		o.Session = part.ID
	}
	res, err := o.runFor(ctx, w.con, w.project, &s, w.at)
	w.at.Runner.NotStarted(ctx, &s, err)
	w.last, w.shown, w.logged, w.personal = res, o.shown, o.logged, o.personal
	return res, w.project.ExplainNoTree(s.Code, res, err)
}

// wait waits until the workflow ends, or stops at a later part than this one, asks what it asks a person, and reports how it ended.
func (w *workflowCommand) wait(ctx context.Context, part int) error {
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
	status, err := w.engine.Wait(ctx, w.id, part)
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
	return w.show(status, &w.project.Settings.PII)
}

// look asks the questions of the workflow that were not asked yet, and says what else it waits for.
func (w *workflowCommand) look(ctx context.Context, asked *term.Elicitor, told map[string]bool) {
	state, size, err := w.engine.Peek(ctx, w.id)
	if err != nil || state != durable.Waiting || size == w.looked {
		return
	}
	status, err := w.engine.Get(ctx, w.id)
	if err != nil {
		return // tried again
	}
	w.looked = size
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
				_, err = w.engine.Answer(ctx, w.id, &s, reply)
			}
			if err != nil && ctx.Err() == nil {
				w.con.Say("mcprun: " + cli.EscapeLine(err.Error()))
				if errors.Is(err, workflow.ErrFits) {
					told[s.Topic], w.looked = false, 0
				}
			}
		}
	}
}

// show reports how the workflow ended, as a run does.
func (w *workflowCommand) show(status *workflow.Status, settings *config.PII) error {
	res := w.last
	switch {
	case status.Stop != nil:
		goesOn := "the workflow goes on with: mcprun workflow resume " + w.id
		if res == nil || res.Cause == runner.CauseSuspended { // the last part did not start, here
			res = plainResult(&workflow.Outcome{ExitCode: status.Stop.ExitCode, Cause: runner.CauseFailed, Message: status.Stop.Reason})
		}
		res.Message = strings.TrimPrefix(res.Message+"; "+goesOn, "; ")
	case status.State == durable.Cancelled:
		return cli.WithHint(fmt.Errorf("the workflow %s was cancelled", w.id), "start another one")
	case status.Outcome == nil:
		return fmt.Errorf("the workflow %s has ended as %s", w.id, status.State)
	case res == nil || res.Cause != status.Outcome.Cause: // another process has run its last part
		res = plainResult(status.Outcome)
		if !w.JSON && len(res.Value) > 0 {
			fmt.Fprintf(w.App.Stdout, "result %s\n", cli.EscapeLine(string(res.Value)))
		}
		if !w.JSON && res.Message == "" && !w.Quiet {
			fmt.Fprintf(w.App.Stderr, "mcprun: the workflow %s is %s\n", w.id, status.State)
		}
	}
	if rows := unknownWords(status.Unknown); rows != "" {
		res.Message = strings.TrimPrefix(res.Message+"; unknown whether it was made: "+rows, "; ")
	}
	if w.JSON && w.personal == nil { // a person has begun it, and a program reads it
		personal, err := w.pii.Personal(w.App, settings, w.Customer, true, nil)
		if err != nil {
			return err
		}
		if personal != nil {
			hidden, private := *res, pii.NewPrivate()
			hidden.Value, hidden.Message = private.MaskJSON(res.Value), private.Mask(res.Message)
			hidden.Stdout, hidden.Stderr = private.Mask(res.Stdout), private.Mask(res.Stderr)
			res = &hidden
		}
	}
	return w.report(res, status.Name)
}

// unknownWords lists calls that may have been made.
func unknownWords(all []journal.Unknown) string {
	var rows []string
	for _, u := range all {
		rows = append(rows, cli.EscapeLine(u.String()))
	}
	return strings.Join(rows, ", ")
}

// plainResult returns the result of a part that this process has not run.
func plainResult(out *workflow.Outcome) *runner.Result {
	return &runner.Result{ExitCode: out.ExitCode, Cause: out.Cause, Message: out.Message, Value: out.Result, LimitsHit: []string{}, Calls: []chain.CallRecord{}, Files: []string{}}
}

// Workflows are those of a project's state, for commands that run none.
type Workflows struct {
	*workflow.Engine
	shared *state.Shared
	app    *cli.App
	pii    *config.PII
}

// settingsOf returns the settings of a workflow that mcprun workflow run began. They are empty if they were sealed with another key.
func settingsOf(s *workflow.Status) (*settings, error) {
	out := &settings{}
	if len(s.Settings) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(s.Settings, out); err != nil {
		return nil, fmt.Errorf("read the settings of the workflow %s: %w", s.ID, err)
	}
	return out, nil
}

// Private returns what replaces personal data of a workflow for a program that reads it, or nil if such data is shown to programs.
func (w *Workflows) Private(s *workflow.Status) (*pii.Tokenizer, error) {
	kept, err := settingsOf(s)
	if err != nil {
		return nil, err
	}
	given := &customers.PIIFlag{}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	given.Bind(set)
	for _, mode := range kept.Flags["pii"] {
		if err := set.Set("pii", mode); err != nil {
			return nil, err
		}
	}
	personal, err := given.Personal(w.app, w.pii, s.Customer, true, nil)
	if err != nil || personal == nil {
		return nil, err
	}
	return pii.NewPrivate(), nil
}

// OpenWorkflows opens the workflows of a project. set are the flags of the command. If there is no state yet, the error wraps fs.ErrNotExist.
// The caller closes them.
func OpenWorkflows(ctx context.Context, app *cli.App, at *project.LocationFlags, place *state.PlaceFlag, set *pflag.FlagSet) (*Workflows, error) {
	cfg, err := at.LoadFor(ctx, app, set)
	if err != nil {
		return nil, err
	}
	base, personal := app.Dir, &config.PII{}
	if cfg != nil {
		base, personal = cfg.Dir, &cfg.Settings.PII
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
			return &Workflows{e, shared, app, personal}, nil
		}
		err = errors.Join(err, work.Close(ctx))
	}
	return nil, errors.Join(err, shared.Close())
}

// Close closes the engine and the state.
func (w *Workflows) Close(ctx context.Context) error {
	return errors.Join(w.Engine.Close(ctx), w.shared.Close())
}
