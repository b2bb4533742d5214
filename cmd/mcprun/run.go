package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

type runOptions struct {
	app *cli.App
	projectOptions
	backendOptions
	limitOptions

	code      string
	language  string
	sandbox   string
	riskFlag  string
	workspace string
	json      bool
	verbose   bool
	quiet     bool

	risk runner.Risk // settled
	cmd  *cobra.Command
	args []string // the script's file, unless code is set, and its own arguments
}

// bind registers the flags of a run on cmd, which is both the root command and `run`.
func (o *runOptions) bind(cmd *cobra.Command) {
	o.cmd = cmd
	groups := newFlagGroups(cmd, o.app)
	o.sandbox = runner.Auto
	groups.add("The script", func(f *pflag.FlagSet) {
		f.VarP(word{&o.code, "code"}, "eval", "e", "run this code instead of a file")
		f.Var(word{&o.language, "name"}, "language", "of -e and of standard input: typescript (default) or python")
		f.Var(word{&o.workspace, "folder"}, "workspace", "where it may write, created if missing (default workspace beside the tree)")
	})
	groups.add("Where it runs", func(f *pflag.FlagSet) {
		f.Var(word{&o.sandbox, "name"}, "sandbox", "auto, embedded, process, docker or gvisor")
		f.Var(word{&o.riskFlag, "level"}, "risk", "low, medium, high or critical: in no sandbox too weak for it")
		o.backendOptions.bind(f)
	})
	groups.add("What it calls", o.projectOptions.bind)
	groups.add("Limits", o.limitOptions.bind)
	groups.add("What is said", func(f *pflag.FlagSet) {
		f.BoolVar(&o.json, "json", false, "print one JSON object with output, calls and tokens instead of streaming")
		f.BoolVarP(&o.verbose, "verbose", "v", false, "say on stderr what was called and what it saved")
		f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
		f.BoolVar(&o.debug, "debug", false, "say on stderr what servers print and what connections do")
		f.BoolP("help", "h", false, "show this help")
	})
}

// run runs the script. With --json there is an object on stdout also when the run could not be made.
func (o *runOptions) run(ctx context.Context) error {
	err := o.execute(ctx)
	if _, said := errors.AsType[cli.Quiet](err); err == nil || said || !o.json {
		return err
	}
	res := &runner.Result{
		ExitCode: cli.ExitCode(err, runner.ExitRunner), Cause: runner.CauseFailed, Message: err.Error(),
		LimitsHit: []string{}, Calls: []runner.CallRecord{}, Files: []string{},
	}
	return errors.Join(err, o.app.JSON(res))
}

func (o *runOptions) execute(ctx context.Context) error {
	src, err := o.readSource()
	if err != nil {
		return err
	}
	project, err := o.open(o.app, o.app.Stderr)
	if err != nil {
		return err
	}
	defer project.Close()
	if err := o.settle(project); err != nil {
		return err
	}
	backends, err := o.backends(o.app, project.log)
	if err != nil {
		return err
	}
	defer closeAll(backends)
	choice, err := runner.Choose(ctx, backends, runner.Wish{Name: o.chosen(), Language: src.language, Risk: o.risk})
	if err != nil {
		return err
	}
	if choice.Reason != "" && !o.quiet {
		fmt.Fprintf(o.app.Stderr, "mcprun: sandbox %s (%s)\n", choice.Backend.Name(), cli.CleanLine(choice.Reason))
	}
	swept := sweep(ctx, backends, project.log)
	defer swept()
	r, err := runner.New(&runner.Options{
		Tree: project.tree, Trusted: project.trusted, Upstreams: project.upstreams, CallTimeouts: project.timeouts, Logger: project.log,
	})
	if err != nil {
		return err
	}
	s := o.script(src, project, choice.Backend)
	said, stdout, stderr := newStreams(o.app.Stdout, o.app.Stderr)
	if !o.json {
		s.Stdout, s.Stderr = stdout, stderr
	}
	res, err := r.Run(ctx, s)
	said.endLine()
	if bad, ok := errors.AsType[*script.Error](err); ok && o.json {
		res, err = unloadable(bad, choice.Backend, src.language), nil
	}
	if err != nil {
		return err
	}
	if sig, ok := errors.AsType[*cli.SignalError](context.Cause(ctx)); ok && res.Cause == runner.CauseInterrupted {
		res.ExitCode = sig.ExitCode()
	}
	return o.report(res)
}

// chosen is the sandbox's name. Whoever names an image means the sandbox that has images.
func (o *runOptions) chosen() string {
	if o.sandbox == runner.Auto && o.image != "" {
		return "docker"
	}
	return o.sandbox
}

// unloadable is the result of a script that the bundler refuses. With --json it is an object like that of a Python
// script which cannot be compiled, so that callers read one kind of answer for both.
func unloadable(bad *script.Error, b sandbox.Backend, lang sandbox.Language) *runner.Result {
	rt, _ := b.Runtime(lang)
	return &runner.Result{
		ExitCode: bad.ExitCode(), Cause: runner.CauseError, Sandbox: b.Name(), Runtime: string(rt), Stderr: bad.Error() + "\n",
		Error:     &bridge.ScriptError{Name: "LoadError", Message: bad.Error()},
		LimitsHit: []string{}, Calls: []runner.CallRecord{}, Files: []string{},
	}
}

// script puts flags and source together.
func (o *runOptions) script(src *source, p *project, b sandbox.Backend) runner.Script {
	s := runner.Script{
		Name: src.name, Code: src.code, Language: src.language, Dir: src.dir, Args: src.args,
		Backend: b, Timeout: time.Duration(o.timeout), Limits: o.bounds(),
		Workspace: o.workspace, Capture: o.json || o.verbose,
	}
	if s.Workspace == "" {
		s.Workspace = p.workspace
	}
	if !src.stdin {
		s.Stdin = o.app.Stdin
	}
	return s
}

func closeAll(backends []sandbox.Backend) {
	for _, b := range backends {
		_ = b.Close()
	}
}
