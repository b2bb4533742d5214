// Package project finds the configuration, the generated tree, the skills and the workspace of the folder that a command is
// started in, and guards against workspaces in which scripts could do harm.
package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/form"
	"github.com/mcpgen/mcpgen/runner/plugin"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/telemetry"
	"github.com/mcpgen/mcpgen/runner/traffic"
)

// namesTree matches what may be an import of the tree.
var namesTree = regexp.MustCompile(`\bservers\b`)

// ExplainNoTree adds to a run's result or error where the tree was looked for, if the script imports the tree and there is none.
func (p *Project) ExplainNoTree(code string, res *runner.Result, err error) error {
	if p.Tree != "" || !namesTree.MatchString(code) {
		return err
	}
	from := "the folder that mcprun was started in, which has no " + config.OwnName + " or " + config.FileName + "; inside a git repository it is looked for further up as well"
	if p.configured {
		from = "as the configuration beside it says"
	}
	where := fmt.Sprintf("the tree was looked for in %q (%s): start mcprun in the project, or name the tree with --servers", p.Wanted, from)
	if _, bad := errors.AsType[*script.Error](err); bad {
		return cli.WithHint(err, where)
	}
	if err == nil && res.Cause == runner.CauseError {
		if res.Message != "" {
			res.Message += "; "
		}
		res.Message += where
	}
	return err
}

// LocationFlags are the flags that name the configuration, the tree and the skills.
type LocationFlags struct {
	Configs []string
	servers string
	Skills  string
	forms   string
	// workflows is the folder of workflows; see Workflows.
	workflows string
	Debug     bool // bound with the output flags
	// AnyConfig accepts --config without a terminal whatever the policy says, because a host may start a server in any folder.
	AnyConfig bool
	// Home keeps files and skills in the user's folder for data if there is no project: neither a configuration nor a tree in the
	// working directory.
	Home bool
	// Silent means that nobody is asked whether the configuration is trusted.
	Silent  bool
	trusted bool
}

// Bind adds the flags to a command.
func (o *LocationFlags) Bind(f *pflag.FlagSet) {
	o.BindConsent(f)
	f.Var(flags.Text(&o.servers, "folder"), "servers", "the generated tree (default: out in mcpgen.yaml, else servers/)")
	f.Var(flags.Text(&o.Skills, "folder"), "skills", "saved scripts, for ./skills/NAME (default: skills/ beside the configuration)")
}

// BindForms adds the flag that names the folder of forms.
func (o *LocationFlags) BindForms(f *pflag.FlagSet) {
	f.Var(flags.Text(&o.forms, "folder"), "forms", "forms to fill in (default: forms/ beside the configuration)")
}

// Forms returns the forms of a project.
func (o *LocationFlags) Forms(app *cli.App, p *Project) *form.Folder {
	return form.NewFolder(cmp.Or(app.Path(o.forms), filepath.Join(p.Base, "forms")))
}

// BindWorkflows adds the flag that names the folder of workflows.
func (o *LocationFlags) BindWorkflows(f *pflag.FlagSet) {
	f.Var(flags.Text(&o.workflows, "folder"), "workflows", "workflow documents and scripts (default: workflows/ beside the configuration)")
}

// Workflows returns the folder of workflows of a project, which need not exist, and how messages name it.
func (o *LocationFlags) Workflows(app *cli.App, p *Project) (dir, shown string) {
	dir = cmp.Or(app.Path(o.workflows), filepath.Join(p.Base, "workflows"))
	if shown, err := filepath.Rel(app.Dir, dir); err == nil && filepath.IsLocal(shown) {
		return dir, shown
	}
	return dir, dir
}

// BindConsent adds only the flags that name the configuration and agree to it.
func (o *LocationFlags) BindConsent(f *pflag.FlagSet) {
	cli.BindConfig(f, &o.Configs)
	trust.Bind(f, &o.trusted)
}

// Project is the project that a command is started in.
type Project struct {
	Tree      string // absolute; empty if there is none
	Wanted    string // absolute: where the tree is, or would be
	Base      string // absolute: where the configuration is, or the working directory, or with AtHome the user's folder for data
	AtHome    bool   // see LocationFlags.Home
	Skills    string // absolute; empty if there is none
	Workspace string // the default folder that scripts write to
	Upstreams chain.Upstreams
	Servers   map[string]chain.ServerSettings
	Settings  config.Settings
	Policy    *policy.Policy
	// Guardrails are those of the settings, as variables change them, and Plugins are asked about runs and calls.
	Guardrails config.Guardrails
	Plugins    *plugin.Set
	Taint      string         // the store that knows whose data workspaces hold; empty if no condition is about that
	Shapes     *traffic.Store // keeps the shapes of results; nil if none are kept
	Cfg        *config.Config // nil without a configuration
	ToRead     bool           // nobody has agreed to the configuration: nothing of it may be started or connected to
	// configured reports whether there is a file of servers.
	configured bool
	Trusted    []string // the files of the configuration, and others that no script may reach
	Log        *slog.Logger
	// Telemetry records runs. Nil: no variable names an endpoint, or nothing of the project is run.
	Telemetry *telemetry.Telemetry
	// Lookup is the environment, and behind it the settings of mcprun in .env; see [config.Settings].
	Lookup config.Lookup
	// State opens what the project remembers. Whoever opened the project sets it, and closes what it opens.
	State    store.Opener
	closeAll []func() error
}

// LoadFor is Load for a command that opens the state, and sets its flags as [flags.ApplyDefaults] does. If only the configuration names the
// state, a person must have agreed to it, or do so now.
func (o *LocationFlags) LoadFor(ctx context.Context, app *cli.App, set *pflag.FlagSet) (*config.Config, error) {
	cfg, err := o.Load(app)
	if err != nil || cfg == nil {
		return nil, errors.Join(err, flags.ApplyDefaults(app, set, &config.Settings{}))
	}
	if flags.NamesState(app, set, &cfg.Settings) {
		gate := trust.Gate{App: app, Named: app.Configs(o.Configs), All: o.trusted, Silent: o.Silent}
		if err := gate.Check(ctx, cfg); err != nil {
			return nil, err
		}
	}
	return cfg, flags.ApplyDefaults(app, set, &cfg.Settings)
}

// NameOf returns the name of a project: that of its settings, else that of its folder. It is empty without a configuration.
func NameOf(cfg *config.Config) string {
	if cfg == nil {
		return ""
	}
	return cmp.Or(cfg.Settings.Name, filepath.Base(cli.RealPath(cfg.Dir)))
}

// Close ends the connections to servers.
func (p *Project) Close() error {
	var errs []error
	if p.Shapes != nil { // before the state
		errs = append(errs, p.Shapes.Close())
	}
	for _, c := range slices.Backward(p.closeAll) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// OnClose makes Close call f too, before what was given to it earlier.
func (p *Project) OnClose(f func() error) { p.closeAll = append(p.closeAll, f) }

// Open finds configuration and tree, either of which may be missing, for a command that starts or connects to something. A
// configuration that no person has agreed to is refused; see package trust.
func (o *LocationFlags) Open(ctx context.Context, app *cli.App, at resources.Provider, stderr io.Writer) (*Project, error) {
	return o.open(app, at, stderr, true, func(cfg *config.Config) error { return o.Consent(ctx, app, at, cfg) })
}

// OpenToRead is Open for a command that reads only, and starts and connects to nothing that the configuration names.
func (o *LocationFlags) OpenToRead(app *cli.App, at resources.Provider, stderr io.Writer) (*Project, error) {
	return o.open(app, at, stderr, false, func(*config.Config) error { return nil })
}

// Consent returns an error if no person has agreed to the configuration, or if --config may not name it.
func (o *LocationFlags) Consent(ctx context.Context, app *cli.App, at resources.Provider, cfg *config.Config) error {
	if err := o.mayName(app, cfg); err != nil {
		return err
	}
	return trust.Gate{App: app, Named: app.Configs(o.Configs), All: o.trusted, Silent: o.Silent || at.InDaemon()}.Check(ctx, cfg)
}

// Agreed reports whether a person has agreed to the configuration, without asking. Without a configuration there is nothing to agree to.
func (o *LocationFlags) Agreed(app *cli.App, cfg *config.Config) bool {
	return cfg == nil || trust.Gate{App: app, Named: app.Configs(o.Configs), All: o.trusted}.Agreed(cfg)
}

// open opens a project that may lets use. Without run, nothing of it runs: may asks nobody then, so no setting of its .env counts that says
// where to write or what to connect to.
func (o *LocationFlags) open(app *cli.App, at resources.Provider, stderr io.Writer, run bool, may func(*config.Config) error) (*Project, error) {
	cfg, err := o.Load(app)
	if err != nil {
		return nil, err
	}
	p := &Project{ToRead: !run}
	if cfg == nil || !run {
		err = p.observe(app, at, stderr, nil, run, o.Debug)
	} else if err = may(cfg); err == nil {
		err = p.observe(app, at, stderr, cfg, run, o.Debug)
	}
	if err != nil {
		return nil, err
	}
	base, out := app.Dir, config.DefaultOut
	if p.configured = cfg != nil; p.configured {
		base, out, p.Cfg = cfg.Dir, cfg.Settings.Out, cfg
		p.Servers, p.Settings = chain.ServersOf(cfg), cfg.Settings
		p.Trusted = cfg.Files()
		for _, n := range cfg.Notes {
			p.Log.Info(cli.EscapeLine(n.String()))
		}
		var closeUpstreams func() error
		if p.Upstreams, closeUpstreams, err = p.connect(app, at, cfg, base, stderr, o.Debug); err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.OnClose(closeUpstreams)
	}
	if err := p.newPolicy(app, at, base, stderr); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if run {
		if err := p.openPlugins(app, base); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	p.keepShapes(app, base, stderr)
	const variable = flags.EnvPrefix + "SERVERS"
	if tree := cmp.Or(app.Path(app.Env(variable)), p.Settings.Variables[variable]); tree != "" {
		out = tree
	}
	p.Wanted = o.treeFolder(app, base, out)
	p.Tree, err = o.findTree(p.Wanted)
	if err != nil {
		return nil, err
	}
	if o.Home && cfg == nil && (p.Tree == "" || o.servers != "") {
		if base = app.DataDir(); base == "" {
			return nil, flags.Usage("there is no project in %q, and no place for files without one: start mcprun in a project, name its configuration with --config, or set HOME or XDG_DATA_HOME", app.Dir)
		}
		p.AtHome = true
	}
	p.Base, p.Workspace = base, filepath.Join(base, "workspace")
	return p, nil
}

// OpenServer opens a project of one server that is given on the command line, in the working directory. Neither a configuration
// nor its policy counts, because the user has typed what to start. Without a terminal a model may have typed it; then the policy
// of the project here must accept --config.
func (o *LocationFlags) OpenServer(app *cli.App, at resources.Provider, stderr io.Writer, server config.Server) (*Project, error) {
	if len(o.Configs) > 0 {
		return nil, flags.Usage("the command line has a server and --config: give one of the two")
	}
	if !flags.Attended(app) {
		here, err := o.Load(app)
		if err != nil {
			return nil, err
		}
		if here != nil && here.Settings.Policy.File != "" && !slices.Contains(here.Settings.Policy.Unattended, "config") {
			return nil, &flags.UnattendedError{Given: "a server on the command line", Key: "config", File: config.SettingsName}
		}
	}
	p := &Project{Base: app.Dir, Wanted: o.treeFolder(app, app.Dir, config.DefaultOut)}
	cfg := &config.Config{Dir: app.Dir, Servers: []config.Server{server}}
	p.Servers = chain.ServersOf(cfg)
	if err := p.observe(app, at, stderr, nil, true, o.Debug); err != nil {
		return nil, err
	}
	var closeUpstreams func() error
	var err error
	if p.Upstreams, closeUpstreams, err = p.connect(app, at, cfg, app.Dir, stderr, o.Debug); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.OnClose(closeUpstreams)
	if err := p.newPolicy(app, at, app.Dir, stderr); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// observe opens the log and, for runs, the telemetry. cfg is a configuration that a person has agreed to, or nil.
func (p *Project) observe(app *cli.App, at resources.Provider, stderr io.Writer, cfg *config.Config, run, debug bool) error {
	var settings *config.Settings
	if cfg != nil {
		settings = &cfg.Settings
		for _, line := range flags.UnknownVariables(cfg) {
			fmt.Fprintln(stderr, "mcprun: "+cli.EscapeLine(line))
		}
	}
	p.Lookup = variables(app, settings)
	var level *slog.Level
	if debug {
		level = new(slog.LevelDebug)
	}
	log, closeLog, err := OpenLog(app, settings, stderr, level, silent)
	if err != nil {
		return err
	}
	p.Log = log
	p.OnClose(closeLog)
	if !run {
		return nil
	}
	tel, release, err := at.Telemetry(p.Lookup, func(err error) { fmt.Fprintln(stderr, "mcprun: "+cli.EscapeLine(err.Error())) })
	if err != nil { // a run does not depend on it
		fmt.Fprintln(stderr, "mcprun: no telemetry: "+cli.EscapeLine(err.Error()))
		return nil
	}
	p.Telemetry = tel
	p.OnClose(func() error { release(); return nil })
	return nil
}

// openPlugins opens the plugins. Nothing is started before they are asked.
func (p *Project) openPlugins(app *cli.App, base string) (err error) {
	if p.Guardrails, err = flags.Guardrails(app, &p.Settings); err != nil {
		return err
	}
	if p.Plugins, err = plugin.Open(p.Settings.Plugins, plugin.Options{Dir: base, Lookup: p.Lookup, Guardrails: p.Guardrails, Log: p.Log}); err != nil {
		return err
	}
	p.OnClose(p.Plugins.Close)
	for i := range p.Settings.Plugins {
		p.Trusted = append(p.Trusted, p.Settings.Plugins[i].Files(base)...)
	}
	return nil
}

// newPolicy compiles the policy.
func (p *Project) newPolicy(app *cli.App, at resources.Provider, base string, stderr io.Writer) (err error) {
	old, noFolder := app.ProjectState("counts", base)
	rates := at.Rates().In(policy.Counts{State: p.OpenState, Old: old, Moved: sayOn(stderr)})
	if p.Policy, err = policy.New(&p.Settings.Policy, rates); err != nil {
		return err
	}
	if p.Policy.Lasting() && noFolder == nil {
		p.Trusted = append(p.Trusted, old)
	}
	if !slices.ContainsFunc(append(p.Policy.Customers(), ""), p.Policy.UsesTaint) {
		return nil
	}
	if p.Taint, err = app.ProjectState("taint", base); err != nil {
		return cli.WithHint(fmt.Errorf("find where it is kept whose data files hold: %w", err), "set HOME or XDG_STATE_HOME")
	}
	return nil
}

// OpenState opens the state that the project has by then.
func (p *Project) OpenState(ctx context.Context) (store.Store, error) {
	if p.State == nil {
		return nil, errors.New("the command has opened no state")
	}
	return p.State(ctx)
}

// sayOn returns a function that prints a line for people.
func sayOn(stderr io.Writer) func(string) {
	return func(line string) { fmt.Fprintln(stderr, "mcprun: "+cli.EscapeLine(line)) }
}

// keepShapes keeps the shapes of results in the state, if the configuration wants that.
func (p *Project) keepShapes(app *cli.App, base string, stderr io.Writer) {
	if p.Settings.Learn != config.LearnTraffic {
		return
	}
	old, err := app.ProjectTraffic(base)
	if err == nil { // else there is no old file
		p.Trusted = append(p.Trusted, old)
	}
	p.Shapes = traffic.New(traffic.Options{State: p.OpenState, Old: old, Moved: sayOn(stderr)})
}

// Observer returns what keeps the shapes of results, or nil.
func (p *Project) Observer() chain.Observer {
	if p.Shapes == nil {
		return nil
	}
	return p.Shapes
}

// CheckOutput refuses to write what a flag asks for, such as a recording, over a file of the project.
func (p *Project) CheckOutput(flag, path string) error {
	if path == "" {
		return nil
	}
	if err := config.CheckOutput(path, p.Trusted, p.Wanted); err != nil {
		return flags.Usage("%s: %w", flag, err)
	}
	return nil
}

// Files returns a text that changes when a file changes that [LocationFlags.Open] reads, except for the files of the tree.
func (o *LocationFlags) Files(app *cli.App) string {
	sum := sha256.New()
	at, err := config.Locate(app.Dir, app.Configs(o.Configs))
	paths := at.Paths
	if err == nil {
		paths = append(paths, filepath.Join(at.Dir(), config.SettingsName), filepath.Join(at.Dir(), config.DotEnvName))
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%q %t %d\n", path, err == nil, len(text))
		sum.Write(text)
	}
	return fmt.Sprintf("%x %v", sum.Sum(nil), err)
}

// mayName refuses a named configuration other than that of the project here if there is no terminal and the project's policy does
// not accept --config.
func (o *LocationFlags) mayName(app *cli.App, cfg *config.Config) error {
	if o.AnyConfig || flags.Attended(app) || len(app.Configs(o.Configs)) == 0 {
		return nil
	}
	at, err := config.Locate(app.Dir, nil)
	if _, none := errors.AsType[*config.NotFoundError](err); none {
		return nil
	}
	if err != nil {
		return err
	}
	same := func(a, b string) bool { return cli.RealPath(a) == cli.RealPath(b) }
	if slices.EqualFunc(at.Paths, cfg.Paths, same) {
		return nil
	}
	here, err := at.Load()
	if err != nil || here.Settings.Policy.File == "" || slices.Contains(here.Settings.Policy.Unattended, "config") {
		return err
	}
	given := "--config"
	if len(o.Configs) == 0 {
		given = cli.ConfigVariable
	}
	return &flags.UnattendedError{Given: given, Key: "config", File: config.SettingsName}
}

// Load reads the configuration and finds the folders of the project. A policy that would not take effect is an error.
func (o *LocationFlags) Load(app *cli.App) (*config.Config, error) {
	at, err := config.Locate(app.Dir, app.Configs(o.Configs))
	if none, is := errors.AsType[*config.NotFoundError](err); is && none.Idle == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if at.Idle != "" {
		return nil, &config.FileError{File: at.Idle, Key: at.IdleKey, Problem: "it has no effect, because there is no list of servers beside it: the project is " + at.Dir(),
			Remedy: fmt.Sprintf("write it into %s there, or create %s beside it, which may list no servers", config.SettingsName, config.OwnName)}
	}
	return at.Load()
}

// connect prepares connections. The first call connects.
func (p *Project) connect(app *cli.App, at resources.Provider, cfg *config.Config, dir string, stderr io.Writer, debug bool) (chain.Upstreams, func() error, error) {
	dotenv, err := config.DotEnv(dir)
	if err != nil {
		return nil, nil, err
	}
	opt := &upstream.Options{
		Lookup: config.WithDotEnv(app.LookupEnv, dotenv),
		Logger: p.Log, ClientName: "mcprun", ClientVersion: cli.Version(), Elicit: true,
	}
	if p.Telemetry != nil {
		opt.Sessions = p.Telemetry
	}
	if dir, err := app.StateDir(); err == nil { // without a state folder there are no logins
		opt.Logins = upstream.NewLogins(filepath.Join(dir, "logins"), app.Keyring())
	}
	if debug {
		opt.Stderr = cli.Prefixed(stderr)
	}
	return at.Upstreams(app, cfg.Servers, opt)
}

// FindSkills returns the folder of skills, without links; empty if there is none. A named folder must exist; the default one need
// not.
func (o *LocationFlags) FindSkills(p *Project) (string, error) {
	dir, _, err := o.SkillsFolder(p)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil && o.Skills != "" {
		return "", &cli.UsageError{Err: fmt.Errorf("find the skills: %w", err)}
	} else if err != nil {
		return "", nil
	}
	return dir, nil
}

// SkillsFolder returns the folder of the project's skills, which may not exist, and the symbolic link to it if it is one.
func (o *LocationFlags) SkillsFolder(p *Project) (dir, link string, err error) {
	dir = cmp.Or(o.Skills, "skills")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Base, dir)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, "", nil
	case err != nil:
		return "", "", &cli.UsageError{Err: fmt.Errorf("find the skills: %w", err)}
	case !info.IsDir():
		return "", "", flags.Usage("the skills %q are not a folder", dir)
	case IsLink(dir):
		link = dir
	}
	dir, err = filepath.EvalSymlinks(dir)
	return dir, link, err
}

// treeFolder returns the folder of the tree, which may not exist.
func (o *LocationFlags) treeFolder(app *cli.App, base, out string) string {
	switch {
	case o.servers != "":
		return app.Path(o.servers)
	case filepath.IsAbs(out):
		return out
	}
	return filepath.Join(base, out)
}

// findTree returns the tree's folder. A named folder must exist; the default one need not.
func (o *LocationFlags) findTree(dir string) (string, error) {
	named := o.servers != ""
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir() && !named && !hasLock(dir):
		return "", nil // the folder is not a tree
	case err == nil && info.IsDir():
		return filepath.EvalSymlinks(dir)
	case !named && errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err == nil:
		return "", &cli.UsageError{Err: fmt.Errorf("the tree %q is not a folder", dir)}
	}
	return "", &cli.UsageError{Err: fmt.Errorf("find the tree: %w", err)}
}

func hasLock(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ".mcpgen", "lock.json"))
	return err == nil
}
