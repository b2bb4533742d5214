package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/models"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/hostapi"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/judge"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/task"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// taskRun is what mcprun task adds to a run.
type taskRun struct {
	only    bool // --plan
	repairs int
	save    string
	force   bool // --save replaces a file
	skill   string
	restore bool // --restore-pii

	text     string
	own      *customer.Customer // nil: the project's
	trustSet bool               // a person said who wrote the script
	hasRun   bool               // a script has run, and the model reads what came of it
	taint    []string           // the servers whose data the model may have read
	script   runner.Script      // the last one that was checked
	shown    *task.Script       // the last one that a person has seen
	restores bool               // the reader gets personal data as it is, although the model has tokens
}

func (t *taskRun) bind(f *pflag.FlagSet) {
	t.repairs = task.DefaultRepairs
	f.BoolVar(&t.only, "plan", false, "print the script and the selection of tools, and run nothing")
	f.Var(flags.Text(&t.save, "file"), "save", "write the script to this file")
	f.BoolVar(&t.force, "force", false, "with --save, replace a file that exists")
	f.Var(flags.Text(&t.skill, "name"), "save-skill", "save a script that succeeds as a skill of this name")
	f.BoolVar(&t.restore, "restore-pii", false, "with --json, print personal data in result, output and error as it is, though the model has tokens")
	f.Var(flags.Count(&t.repairs, 0), "repairs", "how often the model may repair a script that cannot run or fails")
}

// NewTaskCommand returns the command task.
func NewTaskCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &Options{App: app, Resources: at, task: &taskRun{}}
	cmd := &cobra.Command{
		Use: "task WORDS...", Short: "Do a task in words: find tools, have a model write a script, run it",
		Long: `Finds the tools that the task needs, has the model of model: in mcpgen.yaml write a script
that uses them, checks it, and runs it like mcprun run, with the same flags. If the script fails,
the model repairs it, unless it may already have changed something: by a call, a file or a
connection. Without a model, the script is a scaffold for you to complete, and the exit code is
125 (0 with --plan).`,
		Example: `  mcprun task "Calculate 5 + 3"
  mcprun task --plan --save leads.ts "Read the sheet leads-2026, and create a CRM record for each new lead"
  mcprun task --customer acme --json "Get the forecast for Oslo"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.task.text = strings.TrimSpace(strings.Join(args, " ")); o.task.text == "" {
				return cli.Usage(cmd, `say what is to be done: mcprun task "Calculate 5 + 3"`)
			}
			return o.runTask(cmd.Context())
		},
	}
	o.Bind(cmd)
	return cmd
}

// taskOutcome is a task's outcome, with what [shownResult] adds to its run.
type taskOutcome struct {
	*task.Outcome
	Run *shownResult `json:"run,omitempty"`
}

// runTask does the task and prints what came of it.
func (o *Options) runTask(ctx context.Context) error {
	out, err := o.doTask(ctx)
	if o.JSON {
		if out == nil {
			out = &task.Outcome{Task: o.personal.Mask(o.task.text), Error: o.personal.Mask(err.Error())}
		}
		shown := taskOutcome{Outcome: out}
		if out.Run != nil {
			shown.Run = &shownResult{out.Run, o.shown, o.logged, ""}
		}
		if failed := o.App.JSON(shown); failed != nil {
			return errors.Join(err, failed)
		}
	}
	if err == nil && out.Run != nil && out.Run.ExitCode != 0 {
		return cli.Quiet(out.Run.ExitCode)
	}
	return err
}

// doTask does the task. The outcome is nil if it was not begun.
func (o *Options) doTask(ctx context.Context) (out *task.Outcome, err error) {
	if !o.App.Terminal.Stdin && !o.fromStdin() {
		o.Base.Stdin = o.App.Stdin
	}
	con := term.NewConsole(o.App)
	p, err := o.openProject(ctx, con)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := o.Flags.Validate(o.Cmd.Flags()); err != nil { // before a customer is created
		return nil, err
	}
	if p.Tree == "" {
		return nil, &cli.UsageError{Err: fmt.Errorf("there is no generated tree in %q: make one with mcpgen sync, or name it with --servers", p.Wanted), Command: "mcprun task"}
	}
	if err := o.checkSaves(p); err != nil {
		return nil, err
	}
	opt, err := o.taskOptions(ctx, con, p)
	if err != nil {
		return nil, err
	}
	out, err = task.Do(ctx, o.task.text, *opt)
	if kept := o.keepScript(ctx, p, out, err); kept != nil {
		con.Close()
		o.showScript(out.Script)
		out.Error = cmp.Or(out.Error, o.personal.Mask(kept.Error()))
		err = errors.Join(o.explain(err), kept)
	} else {
		err = o.explain(err)
	}
	o.restorePersonal(out, o.printer(con))
	if o.JSON {
		return out, err
	}
	return out, errors.Join(o.printTask(con, out), err)
}

// taskOptions returns what the task is done with.
func (o *Options) taskOptions(ctx context.Context, con *term.Console, p *project.Project) (*task.Options, error) {
	lang, err := source.Named(o.language)
	if err != nil {
		return nil, err
	}
	x, err := resources.OpenIndex(o.App, o.Resources, p.Tree, p.Cfg)
	if err != nil {
		return nil, err
	}
	tree := &task.Tree{Tree: x.Tree, Index: x.Index}
	if have := tree.Languages(); o.language == "" && len(have) > 0 {
		lang = have[0]
	}
	vars, err := o.values(ctx, o.App)
	if err != nil {
		return nil, err
	}
	opt := &task.Options{
		Tree: tree, Language: lang, Repairs: o.task.repairs,
		Rules: task.Rules{Variables: slices.Sorted(maps.Keys(vars))},
	}
	if opt.Model, err = models.Open(ctx, o.App, p); err != nil && !errors.Is(err, models.ErrNone) {
		return nil, err
	}
	if err := o.openTask(ctx, con, p, opt); err != nil {
		return nil, err
	}
	if opt.Rules.Packages, err = o.OfferPackages(ctx, p, []string{string(lang)}); err != nil {
		return nil, err
	}
	if o.Base.Network {
		if opt.Rules.Network, err = o.Network(p); err != nil {
			return nil, err
		}
	}
	say, loud := o.printer(con), !o.Quiet && !o.JSON && (o.verbose || o.App.Terminal.Stderr)
	if o.JSON { // which has the same
		say = func(string) {}
	}
	opt.Selected = func(s *task.Selection) {
		if say(cli.EscapeLine(s.String())); s.Degraded != "" {
			say(cli.EscapeLine("tools are searched with less than is configured: " + s.Degraded))
		}
		o.recommend(ctx, p, x, s, say)
	}
	opt.Retrying = func(problem string) {
		line, _, _ := strings.Cut(problem, "\n")
		say(cli.EscapeLine("the model tries again: " + cli.Shorten(line, term.MaxShown)))
	}
	opt.Written = func(s *task.Script) {
		if loud {
			fmt.Fprintf(con.Other(), "%s\nmcprun: risk %s: %s\n", strings.TrimRight(cli.Escape(s.Code), "\n"), s.Risk, cli.EscapeLine(s.RiskReason))
			o.task.shown = s
		}
	}
	opt.Check = func(ctx context.Context, s *task.Script) ([]string, error) { return o.checkTask(ctx, p, s) }
	if !o.task.only {
		opt.Run = func(ctx context.Context, _ *task.Script) (*runner.Result, error) { return o.tryTask(ctx, p) }
	}
	return opt, nil
}

// recommend adds to selected tools what the customer's runs used with them. A task does not fail because of it.
func (o *Options) recommend(ctx context.Context, p *project.Project, x *resources.TreeIndex, s *task.Selection, say func(line string)) {
	found := make([]search.Result, len(s.Tools))
	for i := range s.Tools {
		found[i].Tool = s.Tools[i].ID
	}
	if err := p.Recommend(ctx, x.Tree.Catalog, o.Customer, found); err != nil {
		say(cli.EscapeLine("what was used together is left out: " + err.Error()))
	}
	for i, f := range found {
		if s.Tools[i].UsedTogether = f.UsedTogether; len(f.UsedTogether) > 0 {
			say(cli.EscapeLine(fmt.Sprintf("used together with %s: %s", f.Tool, strings.Join(f.UsedTogether, ", "))))
		}
	}
}

// openTask sets what all runs of the task share: who wrote their scripts, the customer's session, and the outlet for personal data, which the
// model has too.
func (o *Options) openTask(ctx context.Context, con *term.Console, p *project.Project, opt *task.Options) error {
	o.task.trustSet = o.author != runner.TrustUnset
	o.distrust()
	if opt.Model != nil {
		o.Calls.Who.Model = audit.Text(opt.Model.Name())
	}
	o.Calls.Conversation = &policy.Run{} // what one run received, the model puts into the next one
	if err := o.openCustomer(con, p, opt); err != nil {
		return err
	}
	workspace, id := p.Workspace, ""
	if own := o.task.own; own != nil {
		workspace, id = own.Files(), own.ID()
	}
	vault := hostapi.Once(func() (*pii.Vault, error) {
		return customers.OpenVault(o.App, p, o.task.own, workspace, o.printer(con))
	})
	var err error
	if o.personal, err = o.Personal(p, id, vault); err != nil || o.personal == nil {
		return err
	}
	opt.Mask, opt.Rules.Personal = o.personal.Mask, o.personal
	reader, err := o.pii.Personal(o.App, &p.Settings.PII, id, o.JSON && !o.task.restore, vault)
	if o.task.restores = reader == nil; o.task.restore && reader != nil {
		return flags.Usage("--restore-pii shows personal data, which this run hides: the mode below pii: in %s, or of --pii, is %s", config.SettingsName, reader)
	}
	return err
}

// restorePersonal gives the reader of an outcome what the tokens in it stand for, unless they are for the reader, too.
func (o *Options) restorePersonal(out *task.Outcome, say func(line string)) {
	if !o.task.restores {
		return
	}
	outlet := o.personal.Outlet
	var err error
	if len(out.Result) > 0 {
		var result json.RawMessage
		if result, err = outlet.Restore(out.Result); err == nil {
			out.Result = result
		}
	}
	texts := []*string{&out.Output, &out.Error}
	if out.Run != nil && !o.JSON { // where the run is as the model read it
		texts = append(texts, &out.Run.Stderr)
	}
	for _, text := range texts {
		restored, failed := outlet.RestoreText(*text)
		if failed == nil {
			*text = restored
		}
		err = cmp.Or(err, failed)
	}
	if err != nil {
		say(cli.EscapeLine("personal data is shown as tokens: " + err.Error()))
	}
}

// openCustomer finds the customer of the task, and the session that all its runs are logged in. A plan has no runs.
func (o *Options) openCustomer(con *term.Console, p *project.Project, opt *task.Options) error {
	if o.Customer == "" {
		return nil
	}
	root, err := o.Flags.Open(o.App, p.Base, p.State, p.Upstreams, p.Policy.Customers(), o.printer(con))
	if err != nil {
		return err
	}
	p.OnClose(root.Close)
	if o.task.only {
		o.task.own, err = root.Customer(o.Customer)
		return err
	}
	if o.Task == "" {
		o.Task = o.task.text
	}
	session, err := o.Find(root)
	if err != nil {
		return err
	}
	o.task.own, o.Session = session.Customer(), session.ID()
	if p.Policy.UsesTaint(o.task.own.ID()) { // a log does not know whose data it has
		return nil
	}
	return o.giveWork(session, opt)
}

// giveWork gives the task's scripts what was done for the customer before, and tells the model that they have it.
func (o *Options) giveWork(from *customer.Session, opt *task.Options) error {
	s := runner.Script{Vars: o.single}
	if slices.Contains(opt.Rules.Variables, runner.SessionVariable) {
		return nil
	}
	if err := customers.GiveWork(from, &s); err != nil || s.Vars[runner.SessionVariable] == nil {
		return err
	}
	o.single = s.Vars
	opt.Rules.Variables = append(opt.Rules.Variables, runner.SessionVariable+` (what was done for this customer before, or null: {tasks: [{description, code, result, output, time, exitCode}], files, checkpoint: {name, time, task, data}})`)
	return nil
}

// distrust makes the model the author of scripts, unless a person said who is. Once a script has run, the model reads what came of it.
func (o *Options) distrust() {
	if o.task.trustSet {
		return
	}
	if o.author = runner.TrustModel; o.task.hasRun {
		o.author = runner.TrustExposed
	}
}

// checkTask says what is wrong with a script before it runs, and sets its risk.
func (o *Options) checkTask(ctx context.Context, p *project.Project, ts *task.Script) ([]string, error) {
	s := o.Base // with what the environment and mcpgen.yaml set
	s.Name, s.Code, s.Language = "task"+ts.Language.Extensions()[0], ts.Code, ts.Language
	con := term.NewConsole(o.App)
	defer con.Close()
	o.distrust()
	if err := o.describe(ctx, con, p, &s); err != nil {
		return nil, err
	}
	set, err := o.installed()
	if err != nil {
		return nil, err
	}
	reads := runner.Options{Tree: p.Tree, Skills: p.Skills, Packages: set, Trusted: o.Trusted(o.App, p)}
	program, err := s.Read(ctx, o.Resources.Bundler(), reads.Reading())
	if bad, ok := errors.AsType[*script.Error](err); ok {
		return lines(bad.Problems), nil
	}
	if err != nil {
		return nil, err
	}
	if wrong := lines(program.Uses.Missing); len(wrong) > 0 {
		return wrong, nil
	}
	found, err := o.inspect(ctx, p, &s, judge.Options{Restricted: s.Restricted})
	if err != nil {
		return nil, err
	}
	if found.Types != "" && o.verbose {
		o.printer(con)("types are not checked: " + cli.EscapeLine(found.Types))
	}
	ts.Risk, ts.RiskReason, o.task.script = found.Risk, found.Reason, s
	return lines(found.Problems), nil
}

// lines describes problems, each with its line.
func lines[T fmt.Stringer](all []T) []string {
	var out []string
	for _, each := range all {
		out = append(out, each.String())
	}
	return out
}

// tryTask runs the script that was checked last.
func (o *Options) tryTask(ctx context.Context, p *project.Project) (*runner.Result, error) {
	con := term.NewConsole(o.App)
	defer con.Close()
	o.task.taint = o.Calls.Conversation.Taint()
	res, err := o.launch(ctx, con, p, &o.task.script)
	o.Task, o.task.hasRun = "", true // the log has the task
	return res, err
}

// explain adds to an error what a person can do. A plan needs no model.
func (o *Options) explain(err error) error {
	_, weak := errors.AsType[*runner.BackendError](err)
	switch {
	case errors.Is(err, task.ErrNoModel) && o.task.only:
		return nil
	case errors.Is(err, task.ErrNoModel):
		return cli.WithHint(err, cli.Hints(models.ErrNone)[0])
	case weak && !o.task.trustSet:
		return cli.WithHint(err, "a model wrote the script, so it needs a container; if you accept a weaker sandbox, say --trust own")
	}
	return err
}

// checkSaves says before anything is asked or run what --save and --save-skill cannot do. The file's extension is the language of the script.
func (o *Options) checkSaves(p *project.Project) error {
	if o.task.skill != "" {
		if _, err := skill.Canonical(o.task.skill); err != nil {
			return fmt.Errorf("--save-skill: %w", err)
		}
	}
	if o.task.save == "" {
		return nil
	}
	path := o.App.Path(o.task.save)
	if err := p.CheckOutput("--save", path); err != nil {
		return err
	}
	if filepath.Ext(path) != "" {
		lang := sandbox.LanguageOf(path)
		if lang == "" || sandbox.JavaScript(path) {
			return flags.Usage("--save: %s: the script is TypeScript or Python, so the file ends in .ts or .py", o.task.save)
		}
		if o.language != "" && o.language != string(lang) {
			return flags.Usage("--save: the extension of %s is that of %s, and --language is %s", o.task.save, lang, o.language)
		}
		o.language = string(lang)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return flags.Usage("--save: %w", err)
	}
	if _, err := os.Lstat(path); err == nil && !o.task.force {
		return flags.Usage("--save: %s exists; --force replaces it", o.task.save)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return flags.Usage("--save: %w", err)
	}
	return nil
}

// keepScript writes the script where --save and --save-skill want it.
func (o *Options) keepScript(ctx context.Context, p *project.Project, out *task.Outcome, failed error) error {
	if out.Script == nil {
		return nil
	}
	if o.task.save != "" {
		f, err := create(o.App.Path(o.task.save))
		if err == nil {
			_, err = f.WriteString(out.Script.Code)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("save the script: %w", err)
		}
	}
	if o.task.skill == "" || failed != nil || out.Run == nil || out.Run.ExitCode != 0 {
		return nil
	}
	store, err := skills.OpenFor(o.App, &o.LocationFlags, p, o.task.own, o.CheckFlags)
	if err != nil {
		return err
	}
	saved, err := store.Save(ctx, skill.Draft{
		Name: o.task.skill, Description: cli.Shorten(out.Task, 1000), Language: out.Script.Language, Code: out.Script.Code, Author: skill.AuthorAgent,
		Taint: o.task.taint,
	})
	if err == nil && !o.Quiet {
		was := ""
		if saved.Before != "" && saved.Before != saved.Version {
			was = fmt.Sprintf(" in place of its version %.12s", saved.Before)
		}
		fmt.Fprintf(o.App.Stderr, "mcprun: saved the skill %s%s\n", saved.Name, was)
	}
	return err
}

// printTask prints the outcome of a task for a person: the script of a plan or a scaffold, else what the script printed, and its result.
func (o *Options) printTask(con *term.Console, out *task.Outcome) error {
	con.Close()
	if out.Script != nil && out.Run == nil && (o.task.only || out.Model == nil) {
		if o.task.save != "" {
			return nil
		}
		_, err := fmt.Fprint(o.App.Stdout, cli.Escape(out.Script.Code))
		return err
	}
	if out.Run == nil {
		return nil
	}
	text := out.Output
	if len(out.Result) > 0 {
		text = strings.TrimSuffix(text, "\n")
		if text != "" {
			text += "\n"
		}
		text += resultText(out.Result) + "\n"
	}
	_, err := fmt.Fprint(o.App.Stderr, cli.Escape(out.Run.Stderr))
	_, failed := fmt.Fprint(o.App.Stdout, text)
	reported := o.report(out.Run, "task")
	if _, quiet := errors.AsType[cli.Quiet](reported); quiet {
		reported = nil // runTask returns it
	}
	if out.Stopped != "" {
		o.printer(con)(cli.EscapeLine("the script is not corrected and run again, because " + out.Stopped))
		if o.task.save == "" {
			o.showScript(out.Script)
		}
	}
	return errors.Join(err, failed, reported)
}

// showScript prints a script that would be lost otherwise.
func (o *Options) showScript(s *task.Script) {
	if s != nil && s != o.task.shown && !o.JSON {
		fmt.Fprintf(o.App.Stderr, "mcprun: this is the script:\n%s\n", strings.TrimRight(cli.Escape(s.Code), "\n"))
		o.task.shown = s
	}
}

// resultText returns a result for people: a text as it is, anything else as JSON.
func resultText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
