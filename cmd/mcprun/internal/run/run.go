// Package run has the commands that run a script or make a single call: mcprun, run, call and session resume.
//
// Flags are bound to the fields of a [runner.Script] ([Options].Base); environment and mcpgen.yaml set the same fields. A run
// copies that script, adds code, variables, streams and answers, chooses a sandbox, and passes it to the runner. To add a flag,
// bind it in [Options.Bind]; to let the environment and mcpgen.yaml set it, add it to run: in gen/config/mcpgen.schema.json.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/network"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/packages"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/chain"
	installed "github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// NewCommand returns a command that runs a script: the root command, or run.
func NewCommand(app *cli.App, at resources.Provider, use, short string) *cobra.Command {
	return newCommand(&Options{App: app, Resources: at}, use, short)
}

func newCommand(o *Options, use, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if o.code == "" && len(args) == 0 && !cmd.Flags().Changed("eval") && o.schedule == nil {
				return cmd.Help()
			}
			return o.run(cmd.Context())
		},
	}
	o.Bind(cmd)
	return cmd
}

// run runs the script. With --json it prints an object to stdout even when the script could not be run.
func (o *Options) run(ctx context.Context) error {
	done, err := o.runByDaemon(ctx)
	if !done {
		err = o.execute(ctx)
	}
	if _, printed := errors.AsType[cli.Quiet](err); err == nil || printed || !o.JSON {
		return err
	}
	res := &runner.Result{
		ExitCode: cli.ExitCode(err, exit.Runner), Cause: runner.CauseFailed, Message: o.personal.Mask(err.Error()),
		LimitsHit: []string{}, Calls: []chain.CallRecord{}, Files: []string{},
	}
	return errors.Join(err, o.App.JSON(res))
}

func (o *Options) execute(ctx context.Context) error {
	if err := o.readSource(ctx, &o.Base); err != nil {
		return err
	}
	con := term.NewConsole(o.App)
	p, err := o.openProject(ctx, con)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := o.readSkill(p); err != nil {
		return err
	}
	s := o.Base // with what the environment and mcpgen.yaml set
	if err := o.describe(ctx, con, p, &s); err != nil {
		return err
	}
	if o.Check {
		return o.typeCheck(ctx, p, &s)
	}
	res, err := o.launch(ctx, con, p, &s)
	if err != nil {
		return err
	}
	err = o.report(res, s.Name)
	if lost := con.Loss(); lost != nil {
		return fmt.Errorf("pass on what the script printed: %w", lost)
	}
	if err == nil && o.planned != nil {
		return o.planned(p, &s, res)
	}
	return err
}

// describe sets what flags and the project say about a run.
func (o *Options) describe(ctx context.Context, con *term.Console, p *project.Project, s *runner.Script) error {
	if err := o.Flags.Validate(o.Cmd.Flags()); err != nil {
		return err
	}
	if err := o.Complete(s, p); err != nil {
		return err
	}
	if o.Quiet && !o.JSON {
		s.Checkers = nil // nobody would see the result
	}
	s.Calls.DryRun = s.Calls.DryRun || o.planned != nil
	return o.showSkillsOf(ctx, p, s, o.printer(con))
}

// admit refuses workspaces that a script must not have, makes that of the project, and begins the record if runs of the kind are recorded.
func (o *Options) admit(ctx context.Context, con *term.Console, p *project.Project, s *runner.Script, recorded bool) error {
	if err := errors.Join(project.RefuseHome(o.App, s.Workspace), RefuseState(o.App, &o.State, p, s.Workspace), o.schedule.refuseOwn(s.Dir, s.Workspace)); err != nil {
		return err
	}
	if o.Customer == "" && s.Workspace == p.Workspace {
		if err := workspace.Create(s.Workspace); err != nil {
			return err
		}
	}
	return Record(ctx, o.App, &o.State, p, &s.Calls, recorded, func(line string) { con.Say("mcprun: " + line) })
}

// launch runs a script that is described, with all that a run has besides it. An error means that it did not start.
func (o *Options) launch(ctx context.Context, con *term.Console, p *project.Project, s *runner.Script) (*runner.Result, error) {
	if err := o.admit(ctx, con, p, s, o.Wanted() || o.schedule != nil); err != nil {
		return nil, err
	}
	at, leave, err := o.Host(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	o.WarnMisspelt(at, o.printer(con))
	if o.planned != nil || o.plan != "" {
		if o.digest, err = at.Runner.Digest(ctx, s); err != nil {
			return nil, p.ExplainNoTree(s.Code, nil, err)
		}
	}
	if o.schedule != nil {
		o.schedule.Begun = true
	}
	s.Calls.Subject.Customer = o.Customer
	if err := o.usePlan(ctx, p, s); err != nil {
		at.Runner.NotStarted(ctx, s, err)
		return nil, err
	}
	res, err := o.runFor(ctx, con, p, s, at)
	at.Runner.NotStarted(ctx, s, err)
	return res, p.ExplainNoTree(s.Code, res, err)
}

// readSource reads the script: from -e, from standard input, or from a file.
func (o *Options) readSource(ctx context.Context, s *runner.Script) error {
	s.Args = o.args
	if !o.App.Terminal.Stdin && !o.fromStdin() { // a terminal is for questions of servers
		s.Stdin = o.App.Stdin
	}
	if o.schedule.runsSkill() {
		return nil // the project tells its language
	}
	if o.code != "" {
		return source.FromCode(s, "eval", o.language, o.code)
	}
	if len(o.args) == 0 {
		return flags.Usage("no script: name a .ts or .py file, or give code with -e")
	}
	s.Args = o.args[1:]
	if o.args[0] == stdin {
		if s.Stdin = nil; o.fromStdin() {
			return flags.Usage("the script and --vars cannot both be on standard input: name a file")
		}
		code, err := source.ReadStdin(ctx, o.App.Stdin)
		if err != nil {
			return fmt.Errorf("read the script from standard input: %w", err)
		}
		return source.FromCode(s, "stdin", o.language, string(code))
	}
	err := source.FromFile(s, o.App.Path(o.args[0]), o.language)
	if usage, ok := errors.AsType[*cli.UsageError](err); ok && errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(o.args[0], "./\\") {
		usage.Near = cli.NearCommands(o.Cmd.Root(), o.args[0])
	}
	return err
}

// openProject opens the project and applies the defaults of flags. The caller closes it.
func (o *Options) openProject(ctx context.Context, con *term.Console) (*project.Project, error) {
	p, err := o.Open(ctx, o.App, o.Resources, con.Other())
	if err != nil {
		return nil, err
	}
	if err := o.ApplyDefaults(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	o.shared = o.State.Attach(o.App, p)
	o.Calls.Observer = p.Observer()
	o.Calls.Cache = NewCache(o.App, p, cmp.Or(o.App.Path(o.Base.Workspace), p.Workspace))
	return p, nil
}

// ApplyDefaults sets flags that were not given on the command line. The highest risk and the least trusted author of flag,
// environment and mcpgen.yaml count.
func (o *Options) ApplyDefaults(p *project.Project) error {
	if o.schedule == nil || !o.schedule.Checked {
		if err := flags.CheckUnattended(o.App, o.Cmd.Flags(), &p.Settings); err != nil {
			return err
		}
	}
	if err := flags.ApplyDefaults(o.App, o.Cmd.Flags(), &p.Settings); err != nil {
		return err
	}
	for _, s := range o.given(p, "risk", o.riskFlag) {
		r, err := risk.Parse(s.value)
		if err != nil {
			return flags.Usage("%s: %w", s.from, err)
		}
		o.risk = max(o.risk, r)
	}
	for _, s := range o.given(p, "trust", o.trust) {
		t, err := runner.ParseTrust(s.value)
		if err != nil {
			return flags.Usage("%s: %w", s.from, err)
		}
		o.author = o.author.Least(t)
	}
	o.setPolicy(p)
	o.installed = sync.OnceValues(func() (*installed.Set, error) { return packages.Of(o.App, p) })
	var err error
	o.network, err = network.Of(o.App, p)
	return err
}

// Personal returns what is done with the personal data of a customer, or nil if it is passed on as it is. The empty id is the project itself.
func (o *Options) Personal(p *project.Project, id string, open func() (*pii.Vault, error)) (*chain.Personal, error) {
	return o.pii.Personal(o.App, &p.Settings.PII, id, o.isProgram(), open)
}

// isProgram reports whether a program reads what the run prints, such as a model, rather than a person.
func (o *Options) isProgram() bool {
	if o.kept != nil {
		return o.kept.Program
	}
	return o.JSON || o.task != nil
}

// Decisive returns what flags, the environment and the settings of the project together say about what calls may do, where no flag alone has
// it, by the flag's name. ApplyDefaults must have been called.
func (o *Options) Decisive(p *project.Project) map[string]string {
	values := map[string]string{"pii": string(o.pii.Mode(o.App, &p.Settings.PII, o.isProgram())), "risk": o.risk.String(), "trust": string(o.author)}
	switch {
	case p.Guardrails.AreOff():
		values["guardrails"] = "off"
	case p.Guardrails.RefusesFindings():
		values["guardrails"] = "strict"
	}
	return values
}

// Network says what runs of the project may connect to if they ask for the network. ApplyDefaults must have been called.
func (o *Options) Network(p *project.Project) (string, error) { return o.network.Offer(p.Policy) }

type givenValue struct{ from, value string }

// given returns a setting in each place where it can be given.
func (o *Options) given(p *project.Project, key, flag string) []givenValue {
	env := flags.EnvPrefix + strings.ToUpper(key)
	return []givenValue{{"--" + key, flag}, {env, o.App.Env(env)}, {config.DotEnvName + ": " + env, p.Settings.Variables[env]}, {"run." + key, p.Settings.Run[key].Value}}
}

// Complete sets the fields of the script that flags determine.
func (o *Options) Complete(s *runner.Script, p *project.Project) error {
	vars, err := o.values(o.Cmd.Context(), o.App)
	if err != nil {
		return err
	}
	if err := o.callFlags.validate(o.App, p); err != nil {
		return err
	}
	s.Vars, s.Calls = vars, o.Calls
	if s.Calls.Details = o.trace != "" && o.trace != traceTerminal; s.Calls.Details {
		if err := p.CheckOutput("--trace", o.App.Path(o.trace)); err != nil {
			return err
		}
	}
	if s.Workspace = o.App.Path(o.Base.Workspace); s.Workspace == "" {
		s.Workspace = p.Workspace
	}
	if o.checkRuns {
		places := o.CheckFlags.Places(o.App, p)
		s.Checkers = &places
	}
	s.MaxOutput, s.Capture = o.OutputBound(), o.JSON || o.verbose || o.task != nil
	return nil
}

// runFor runs the script, and logs the run if it is for a customer.
func (o *Options) runFor(ctx context.Context, con *term.Console, p *project.Project, s *runner.Script, at *Host) (*runner.Result, error) {
	defer con.Close()
	limit := s.Limits.Disk
	v, err := o.LeaseRun(ctx, o.App, p, s, o.printer(con))
	if err != nil {
		return nil, err
	}
	warn := func(line string) { con.Say("mcprun: " + line) } // an error, which is printed with --quiet too
	if v != nil {
		v.Warn = warn
	}
	answers := o.newRunAnswers(p, s, v, o.printer(con))
	answers.warn = warn
	if o.task == nil { // whose model has read tokens of its outlet
		o.personal, err = o.Personal(p, s.Calls.Subject.Customer, answers.Vault)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	s.Calls.Personal, answers.Sealed = o.personal, o.personal.Bridges()
	all := answers.All()
	s.Methods = answers.Calling()
	maps.Copy(all, s.Answers) // those of a workflow's program
	s.Answers = all
	res, err := o.runAt(ctx, con, p, s, at)
	o.shown = answers.finish()
	o.logged = v.Place()
	if sig, ok := errors.AsType[*cli.SignalError](context.Cause(ctx)); ok && res != nil && res.Cause == runner.CauseInterrupted {
		res.ExitCode = sig.ExitCode()
	}
	v.Explain(res, limit)
	v.Log(context.WithoutCancel(ctx), s, res, err)
	if v == nil && o.replay == "" && (res != nil || err != nil) {
		keepDecisions(ctx, o.App, &o.State, p, &s.Calls, customers.LoggedRun(s, res, err), warn)
	}
	return res, errors.Join(err, v.Close())
}

// printer returns a function that prints messages of mcprun, unless --quiet is set.
func (o *Options) printer(con *term.Console) func(line string) {
	return func(line string) {
		if !o.Quiet {
			con.Say("mcprun: " + line)
		}
	}
}

// runAt connects a run with the streams and the terminal, and runs it.
func (o *Options) runAt(ctx context.Context, con *term.Console, p *project.Project, s *runner.Script, at *Host) (*runner.Result, error) {
	tty := term.TerminalName()
	if o.Resources.InDaemon() {
		tty = "" // the daemon has no terminal
	}
	asked, err := term.NewElicitor(o.App, con, tty, o.elicit)
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	asked.Quiet, asked.Personal = o.Quiet, s.Calls.Personal
	if s.Calls.Approver, err = o.approver(o.App, p, s.Workspace, o.printer(con), approverWays{approveTerminal: func() (approve.Approver, error) { return asked.Approver(tty) }}); err != nil {
		return nil, err
	}
	watch := term.NewWatcher(o.App, con, o.Quiet)
	defer watch.Close()
	s.Elicit, s.Watch = asked.Answer, watch.Event
	if !o.JSON && o.task == nil { // which prints the output of its last script
		s.Stdout, s.Stderr = con.Streams()
		if o.planned != nil {
			s.Stdout = s.Stderr // standard output is for the plan's id
		}
	}
	if o.flow != nil {
		s.Stdout = o.flow.begin(s.Stdout)
		defer o.flow.end()
	}
	return o.RunScript(ctx, at, s, o.printer(con))
}

// RunScript launches the script under the conditions that the flags set. An error means that it did not start.
func (o *Options) RunScript(ctx context.Context, at *Host, s *runner.Script, say func(line string)) (*runner.Result, error) {
	brief := !o.verbose && !o.App.Terminal.Stderr // a model that reads stderr pays for each line
	var files files
	s.Risk.Set = max(s.Risk.Set, o.risk)
	res, err := at.Runner.Launch(ctx, s, runner.LaunchOptions{
		Sandboxes: at.backends, Sandbox: o.sandboxName(), Trust: o.author, Policy: o.policy, Guardrails: o.guardrails, Network: o.network,
		Starting: func(choice runner.Choice, lowered []string) error {
			if choice.Reason != "" && !(brief && choice.Usual) && !o.flow.continues() {
				say(fmt.Sprintf("sandbox %s (%s)", choice.Backend.Name(), cli.EscapeLine(choice.Reason)))
			}
			if lowered != nil && !brief {
				by := "the policy"
				if o.guardrails.Present {
					by = "policy or guardrails"
				}
				say("lowered by " + by + ": " + strings.Join(lowered, ", "))
			}
			err := files.Close() // of a sandbox that did not start
			if err == nil {
				files, err = o.openFiles(o.App, &s.Calls)
			}
			return err
		},
	})
	if err := files.Close(); err != nil {
		say(cli.EscapeLine(err.Error()))
	}
	if bad, ok := errors.AsType[*script.Error](err); ok && o.JSON && s.Backend != nil {
		return unloadable(bad, s), nil
	}
	return res, err
}

// CanRun returns the reason why no sandbox here runs scripts in the language, or nil if one does. A sandbox that was named and is
// not usable counts as one that does: starting it reports what is wrong, which may be over by then.
func (o *Options) CanRun(ctx context.Context, p *project.Project, language sandbox.Language) error {
	list, release, err := o.sandboxes(p)
	if err != nil {
		return err
	}
	defer release()
	choice, err := runner.Choose(ctx, list, o.need(language))
	if err != nil || o.sandboxName() == runner.Auto {
		return err
	}
	if st := choice.Backend.Probe(ctx); st.Usable && !slices.Contains(st.Languages, language) {
		rt, _ := choice.Backend.Runtime(language)
		return &runner.BackendError{Name: o.sandboxName(), Message: fmt.Sprintf("sandbox %q has no %s here", o.sandboxName(), language), Remedy: "install " + rt.Wanted()}
	}
	return nil
}

// OfferPackages names what scripts in the languages may import, with what the image of the sandbox for Python has. If the installed packages
// cannot be used, it leaves them out: each run says why.
func (o *Options) OfferPackages(ctx context.Context, p *project.Project, languages []string) (string, error) {
	list, release, err := o.sandboxes(p)
	if err != nil {
		return "", err
	}
	defer release()
	set, _ := o.installed()
	var image []string
	all := make([]sandbox.Language, len(languages))
	for i, name := range languages {
		if all[i] = sandbox.Language(name); all[i] == sandbox.LangPython {
			if choice, err := runner.Choose(ctx, list, o.need(all[i])); err == nil {
				image = choice.Backend.Probe(ctx).Packages
			}
		}
	}
	return runner.OfferPackages(set, image, all...), nil
}

// need is the sandbox that a script needs that was not read yet.
func (o *Options) need(language sandbox.Language) runner.Need {
	return runner.Need{Name: o.sandboxName(), Language: language, Risk: risk.Assessment{Set: max(o.risk, o.author.Risk())}}
}

// sandboxName returns the sandbox's name; a flag of a single sandbox selects it for auto.
func (o *Options) sandboxName() string {
	if selected := backends.Selected(o.Cmd.Flags()); o.sandbox == runner.Auto && selected != "" {
		return selected
	}
	return o.sandbox
}

// unloadable returns the result of a script that the bundler refuses. It has the same form as that of a Python script which
// cannot be compiled, so that readers of --json handle both alike.
func unloadable(bad *script.Error, s *runner.Script) *runner.Result {
	rt, _ := s.Backend.Runtime(s.Language)
	return &runner.Result{
		ExitCode: bad.ExitCode(), Cause: runner.CauseError, Sandbox: s.Backend.Name(), Runtime: string(rt), Stderr: bad.Error() + "\n",
		Error:     &bridge.ScriptError{Name: "LoadError", Message: bad.Error()},
		LimitsHit: []string{}, Calls: []chain.CallRecord{}, Files: []string{},
	}
}

// showSkillsOf chooses the folder that the script sees as ./skills.
func (o *Options) showSkillsOf(ctx context.Context, p *project.Project, s *runner.Script, say func(line string)) error {
	customer, err := o.CustomerSkills(o.App, p, !o.Check)
	if err != nil {
		return err
	}
	shown := ""
	if customer == "" {
		shown, err = o.FindSkills(p)
	} else if real, missing := filepath.EvalSymlinks(customer); missing == nil {
		shown = real
	}
	if err != nil {
		return err
	}
	open := func() (*skill.Store, error) { return skills.Open(o.App, &o.LocationFlags, p, customer, o.CheckFlags) }
	p.Skills, err = o.ShowSkills(ctx, open, p, shown, s, say)
	return err
}

// ShowSkills is [skills.Show] for a run of the script; shown is the folder of its skills.
func (o *Options) ShowSkills(ctx context.Context, open func() (*skill.Store, error), p *project.Project, shown string, s *runner.Script, say func(line string)) (string, error) {
	set, err := o.installed()
	if err != nil {
		return "", err
	}
	reads := runner.Options{Tree: p.Tree, Skills: shown, Packages: set, Trusted: o.Trusted(o.App, p)}
	return skills.Show(ctx, o.App, open, o.Resources.Bundler(), reads.Reading(), s, say)
}

// Host returns the runner and the sandboxes. The caller calls leave after the run.
func (o *Options) Host(ctx context.Context, p *project.Project) (at *Host, leave func(), err error) {
	set, err := o.installed()
	if err != nil {
		return nil, nil, err
	}
	list, release, err := o.sandboxes(p)
	if err != nil {
		return nil, nil, err
	}
	r, err := o.Resources.Runner(&runner.Options{
		Tree: p.Tree, Skills: p.Skills, Packages: set, Trusted: o.Trusted(o.App, p), Taint: p.Taint, Upstreams: p.Upstreams, Servers: p.Servers, Telemetry: p.Telemetry, Logger: p.Log,
	})
	if err != nil {
		release()
		return nil, nil, err
	}
	swept := o.Resources.Sweep(ctx, p.Log)
	return &Host{Runner: r, backends: list}, func() { swept(); release() }, nil
}

func (o *Options) sandboxes(p *project.Project) (list []sandbox.Backend, release func(), err error) {
	return o.Resources.Sandboxes(o.App, backends.Options{LookupEnv: p.Lookup, Image: o.Image, Runsc: o.Runsc, Logger: p.Log})
}
