// Package doctor has the command doctor, which reports the sandboxes that work on this machine and how fast they start.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/checkers"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/packages"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/consent"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

type command struct {
	app *cli.App
	backends.SandboxFlags
	place   state.PlaceFlag
	json    bool
	noSpeed bool

	places   check.Places // where type checkers are looked for
	pii      config.PII   // the project's settings
	packages string       // what is said of the project's packages; empty if it names none
	model    string       // the language model; empty if nothing names one
	state    *state.Inspection
}

const doctorHelp = `doctor checks what each sandbox needs, runs a one-line script in each usable one, and reports
how long that takes. A summary, the choice of --sandbox auto and the state come first, then the details.
The exit code is 0 if at least one sandbox is usable, else 1.`

// NewCommand returns `mcprun doctor`.
func NewCommand(app *cli.App) *cobra.Command {
	o := &command{app: app}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Report which sandboxes work on this machine, and how to fix those that do not",
		Long: doctorHelp,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.BoolVar(&o.noSpeed, "no-speed", false, "do not start scripts to measure speed")
	o.Bind(f)
	o.place.Bind(f)
	return cmd
}

// Report is what doctor prints with --json.
type Report struct {
	Sandboxes []Finding         `json:"sandboxes"`
	State     *state.Inspection `json:"state"`
}

// Finding is one sandbox as doctor shows it.
type Finding struct {
	Name   string `json:"name"`
	Usable bool   `json:"usable"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
	// GoodFor is the greatest risk that this kind of sandbox is suitable for.
	GoodFor   risk.Risk          `json:"goodFor"`
	Languages []sandbox.Language `json:"languages"`
	// Starts has an entry for each language if speed was measured.
	Starts []start `json:"starts,omitempty"`
	// Holds lists what this sandbox protects here, Lacks what this kind of sandbox does not protect on any machine, and Missing
	// the isolation that this machine does not offer.
	Holds   []string `json:"holds"`
	Lacks   []string `json:"lacks"`
	Missing []string `json:"missing"`

	backend sandbox.Backend
}

// applyDefaults sets flags that were not given on the command line, and warns of names in the policy that are likely misspelt. If
// the project cannot be read, doctor still reports.
func (o *command) applyDefaults(ctx context.Context, set *pflag.FlagSet) error {
	settings, at := config.Settings{}, resources.Cold{}
	o.places = checkers.Places(o.app, "")
	where := &project.LocationFlags{}
	p, err := where.OpenToRead(o.app, at, o.app.Stderr)
	if err != nil {
		fmt.Fprintf(o.app.Stderr, "mcprun: the project's settings are ignored: %s\n", cli.Escape(err.Error()))
		err := flags.ApplyDefaults(o.app, set, &settings)
		o.inspectState(ctx, o.app.Dir, &settings)
		return err
	}
	defer p.Close()
	settings = p.Settings
	o.pii = settings.PII
	if m, err := settings.ModelEndpoint(o.app.LookupEnv); err != nil {
		o.model = cli.ErrorLine(err)
	} else if m != nil {
		o.model = m.Provider + " " + m.Name + "; mcprun model check sends it a request"
	}
	named := skills.CheckFlags{
		TSC:     cmp.Or(o.app.Env(flags.EnvPrefix+"TSC"), settings.Run["tsc"].Value),
		Pyright: cmp.Or(o.app.Env(flags.EnvPrefix+"PYRIGHT"), settings.Run["pyright"].Value),
	}
	o.places = named.Places(o.app, p)
	if set, err := packages.ToRead(o.app, where, p); err != nil {
		o.packages = cli.ErrorLine(err)
	} else if set != nil {
		o.packages = packages.Summary(set)
	}
	if p.Cfg != nil {
		for _, n := range consent.Reach(p.Cfg, o.app.LookupEnv) {
			fmt.Fprintln(o.app.Stderr, "mcprun: "+cli.EscapeLine(n.String()))
		}
	}
	if r, err := at.Runner(&runner.Options{Tree: p.Tree, Servers: p.Servers}); err == nil {
		for _, line := range r.Misspelt(p.Policy) {
			fmt.Fprintln(o.app.Stderr, "mcprun: "+cli.EscapeLine(line))
		}
	}
	untrusted := flags.NamesState(o.app, set, &settings) && !where.Agreed(o.app, p.Cfg)
	if err := flags.ApplyDefaults(o.app, set, &settings); err != nil {
		return err
	}
	if untrusted {
		text, remedy := "not looked at, because the configuration in this folder names it and nobody has trusted that yet", "mcpgen trust"
		o.state = &state.Inspection{Error: &text, Remedy: &remedy, Recorded: "none"}
		return nil
	}
	o.inspectState(ctx, p.Base, &settings)
	return nil
}

func (o *command) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	if err := o.applyDefaults(ctx, cmd.Flags()); err != nil {
		return err
	}
	list, err := backends.List(backends.Options{LookupEnv: o.app.LookupEnv, Image: o.Image, Runsc: o.Runsc})
	if err != nil {
		return err
	}
	defer resources.CloseAll(list)
	findings := probe(ctx, list)
	usable := false
	for i := range findings {
		f := &findings[i]
		if f.Usable && !o.noSpeed {
			f.measure(ctx)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		usable = usable || f.Usable
	}
	if o.json {
		err = o.app.JSON(Report{findings, o.state})
	} else {
		o.print(ctx, findings)
	}
	if err == nil && !usable {
		return cli.Quiet(1)
	}
	return err
}

// probe probes the sandboxes concurrently, because each may take two seconds.
func probe(ctx context.Context, backends []sandbox.Backend) []Finding {
	findings := make([]Finding, len(backends))
	var all sync.WaitGroup
	for i, b := range backends {
		all.Go(func() {
			st := b.Probe(ctx)
			findings[i] = Finding{
				Name: b.Name(), Usable: st.Usable, Detail: st.Detail, Remedy: st.Remedy, GoodFor: runner.GoodFor(b.Strength()),
				Languages: append([]sandbox.Language{}, st.Languages...),
				Holds:     append([]string{}, st.Holds...), Lacks: append([]string{}, st.Lacks...), Missing: append([]string{}, st.Missing...),
				backend: b,
			}
		})
	}
	all.Wait()
	return findings
}

// start is the result of starting a script of one language.
type start struct {
	Language sandbox.Language `json:"language"`
	// MS is how long a one-line script takes, in milliseconds.
	MS float64 `json:"ms,omitempty"`
	// Error is why it could not be measured.
	Error string `json:"error,omitempty"`
}

const startTime = 15 * time.Second

// measure starts scripts. A sandbox in which no script starts is not usable, whatever its probe reported.
func (f *Finding) measure(ctx context.Context) {
	works := len(f.Languages) == 0
	for _, lang := range f.Languages {
		s := start{Language: lang}
		took, err := coldStart(ctx, f.backend, lang)
		if err != nil {
			s.Error = err.Error()
		} else {
			s.MS, works = float64(took.Microseconds())/1000, true
		}
		f.Starts = append(f.Starts, s)
	}
	if !works {
		f.Usable, f.Detail = false, f.Detail+", but scripts do not start in it: "+f.Starts[0].Error
		f.Remedy = "see what happens in a run: mcprun --debug --sandbox " + f.Name + " SCRIPT"
	}
}

// coldStart returns how long a one-line script takes.
func coldStart(ctx context.Context, b sandbox.Backend, lang sandbox.Language) (time.Duration, error) {
	r, err := runner.New(nil)
	if err != nil {
		return 0, err
	}
	var stdout, stderr bytes.Buffer
	script := runner.Script{Name: "doctor.ts", Code: `console.log("ready")`, Language: lang, Timeout: startTime, Stdout: &stdout, Stderr: &stderr}
	if lang == sandbox.LangPython {
		script.Name, script.Code = "doctor.py", `print("ready")`
	}
	began := time.Now()
	res, err := r.Launch(ctx, &script, runner.LaunchOptions{Sandboxes: []sandbox.Backend{b}, Sandbox: b.Name()})
	switch {
	case err != nil:
		return 0, err
	case res.ExitCode != 0 || !strings.Contains(stdout.String(), "ready"):
		return 0, fmt.Errorf("a one-line script ended with code %d (%s) %s", res.ExitCode, res.Cause, strings.TrimSpace(res.Message+" "+stderr.String()))
	}
	return time.Since(began), nil
}
