package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

type doctorOptions struct {
	app *cli.App
	backendOptions
	json    bool
	noSpeed bool
}

const doctorHelp = `doctor tries what each sandbox needs, and starts a script of one line in each that
is usable, three times, to tell how fast it is here: from a script's source to its
first line of output. It exits with 0 when at least one is usable, else with 1.`

func newDoctorCmd(app *cli.App) *cobra.Command {
	o := &doctorOptions{app: app}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Tell which sandboxes work on this machine, why not, what to do, and what they hold",
		Long: doctorHelp,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON array")
	f.BoolVar(&o.noSpeed, "no-speed", false, "start no script")
	o.backendOptions.bind(f)
	return cmd
}

// finding is one sandbox as doctor shows it.
type finding struct {
	Name   string `json:"name"`
	Usable bool   `json:"usable"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
	// GoodFor is the greatest risk that this kind of sandbox is good for.
	GoodFor   runner.Risk        `json:"goodFor"`
	Languages []sandbox.Language `json:"languages"`
	// Starts has an entry for each language, when speed was measured.
	Starts []start `json:"starts,omitempty"`
	// Holds is what this sandbox keeps from a script here, Lacks what its kind keeps from it nowhere, Missing what this
	// machine has not for it.
	Holds   []string `json:"holds"`
	Lacks   []string `json:"lacks"`
	Missing []string `json:"missing"`

	backend sandbox.Backend
}

// settle takes over what the project says of the sandboxes. A project that cannot be read is no reason to tell nothing.
func (o *doctorOptions) settle() {
	cfg, err := (&projectOptions{}).load(o.app)
	switch {
	case err != nil:
		fmt.Fprintf(o.app.Stderr, "mcprun: the project's settings are left out: %s\n", cli.Clean(err.Error()))
	case cfg != nil:
		o.defaultImage = cfg.Settings.Run.Image
	}
}

func (o *doctorOptions) run(ctx context.Context) error {
	o.settle()
	backends, err := o.backends(o.app, nil)
	if err != nil {
		return err
	}
	defer closeAll(backends)
	findings := probe(ctx, backends)
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
		if !o.json {
			o.print(f)
		}
	}
	if o.json {
		err = o.app.JSON(findings)
	} else {
		o.printAuto(ctx, findings)
	}
	if err == nil && !usable {
		return cli.Quiet(1)
	}
	return err
}

// probe asks all of them at once: one that is not there may take its time to say so.
func probe(ctx context.Context, backends []sandbox.Backend) []finding {
	findings := make([]finding, len(backends))
	var all sync.WaitGroup
	for i, b := range backends {
		all.Go(func() {
			st := b.Probe(ctx)
			findings[i] = finding{
				Name: b.Name(), Usable: st.Usable, Detail: st.Detail, Remedy: st.Remedy, GoodFor: runner.Strength(b.Name()),
				Languages: append([]sandbox.Language{}, st.Languages...),
				Holds:     append([]string{}, st.Holds...), Lacks: append([]string{}, st.Lacks...), Missing: append([]string{}, st.Missing...),
				backend: b,
			}
		})
	}
	all.Wait()
	return findings
}

// start is how fast a sandbox starts a script of one language.
type start struct {
	Language sandbox.Language `json:"language"`
	// MS is the time from a script's source to its first line of output in milliseconds, the middle one of several.
	MS float64 `json:"ms,omitempty"`
	// Error is why it could not be measured.
	Error string `json:"error,omitempty"`
}

const (
	starts    = 3
	startTime = 15 * time.Second // for all starts of one language
)

// measure starts scripts. A sandbox that starts none is not usable, whatever its parts say.
func (f *finding) measure(ctx context.Context) {
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
		f.Usable, f.Detail = false, f.Detail+"; but no script starts in it: "+f.Starts[0].Error
		f.Remedy = "see what happens in a run of its own: mcprun --debug --sandbox " + f.Name + " SCRIPT"
	}
}
