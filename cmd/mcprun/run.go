package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

type runOptions struct {
	app *cli.App
	projectOptions
	backendOptions

	code      string
	language  string
	sandbox   string
	timeout   runTime
	memory    memorySize
	workspace string
	json      bool
	verbose   bool
	quiet     bool

	cmd  *cobra.Command
	args []string // the script's file, unless code is set, and its own arguments
}

// bind registers the flags of a run on cmd, which is both the root command and `run`.
func (o *runOptions) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	o.cmd = cmd
	f.StringVarP(&o.code, "eval", "e", "", "run this code instead of a file")
	f.StringVar(&o.language, "language", "", "language of -e or of standard input: typescript or python (default typescript)")
	f.StringVar(&o.sandbox, "sandbox", runner.Auto, "where to run: auto, embedded, process or docker")
	o.timeout = runTime(runner.DefaultTimeout)
	f.Var(&o.timeout, "timeout", "stop the script after this time: seconds, or a duration such as 2m")
	o.memory = memorySize(sandbox.Limits{}.WithDefaults().Memory)
	f.Var(&o.memory, "memory", "memory limit: megabytes, or a size such as 512MiB")
	f.StringVar(&o.workspace, "workspace", "", "folder the script may write to, created if missing (default: workspace beside the tree)")
	f.BoolVar(&o.json, "json", false, "print one JSON object with output, calls and tokens instead of streaming")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say on stderr what was called and what it saved")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	o.projectOptions.bind(cmd)
	o.backendOptions.bind(cmd)
}

// run runs the script. With --json there is an object on stdout also when the run could not be made.
func (o *runOptions) run(ctx context.Context) error {
	err := o.execute(ctx)
	if _, said := errors.AsType[cli.Quiet](err); err == nil || said || !o.json {
		return err
	}
	res := &runner.Result{
		ExitCode: cli.ExitCode(err, runner.ExitRunner), Cause: runner.CauseFailed, Message: err.Error(),
		Calls: []runner.CallRecord{}, Files: []string{},
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
	choice, err := runner.Choose(ctx, backends, o.chosen(), src.language)
	if err != nil {
		return err
	}
	if choice.Reason != "" && !o.quiet {
		fmt.Fprintf(o.app.Stderr, "mcprun: sandbox %s (%s)\n", choice.Backend.Name(), cli.CleanLine(choice.Reason))
	}
	swept := sweep(ctx, choice.Backend)
	defer swept()
	r, err := runner.New(&runner.Options{Tree: project.tree, Upstreams: project.upstreams, CallTimeouts: project.timeouts, Logger: project.log})
	if err != nil {
		return err
	}
	s := o.script(src, project, choice.Backend)
	res, err := r.Run(ctx, s)
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
		Error: &bridge.ScriptError{Name: "LoadError", Message: bad.Error()},
		Calls: []runner.CallRecord{}, Files: []string{},
	}
}

// script puts flags and source together.
func (o *runOptions) script(src *source, p *project, b sandbox.Backend) runner.Script {
	s := runner.Script{
		Name: src.name, Code: src.code, Language: src.language, Dir: src.dir, Args: src.args,
		Backend: b, Timeout: time.Duration(o.timeout), Limits: sandbox.Limits{Memory: int64(o.memory)},
		Workspace: o.workspace, Capture: o.json || o.verbose,
	}
	if s.Workspace == "" {
		s.Workspace = p.workspace
	}
	if !src.stdin {
		s.Stdin = o.app.Stdin
	}
	if !o.json {
		s.Stdout, s.Stderr = o.app.Stdout, o.app.Stderr
	}
	return s
}

// sweep removes what dead runs left, beside the run; the returned function waits for it, but not long.
func sweep(ctx context.Context, b sandbox.Backend) (wait func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Sweep(ctx) // what can't be removed now is tried again by the next run
	}()
	return func() {
		<-done
		cancel()
	}
}

func closeAll(backends []sandbox.Backend) {
	for _, b := range backends {
		_ = b.Close()
	}
}

// report prints what a run came to and turns its exit code into the process's.
func (o *runOptions) report(res *runner.Result) error {
	switch {
	case o.json:
		if err := o.app.JSON(res); err != nil {
			return err
		}
	default:
		if res.Message != "" {
			fmt.Fprintf(o.app.Stderr, "mcprun: %s\n", cli.Clean(res.Message))
			o.madeCalls(res)
		} else if res.Cause == runner.CauseError {
			o.madeCalls(res)
		}
		if o.verbose && !o.quiet {
			printSummary(o.app.Stderr, o.app.ErrStyle(), res)
		}
	}
	if res.ExitCode != 0 {
		return cli.Quiet(res.ExitCode)
	}
	return nil
}

// madeCalls tells which calls a run that did not end well had made, so that nobody repeats side effects blindly.
func (o *runOptions) madeCalls(res *runner.Result) {
	made := slices.DeleteFunc(slices.Clone(res.Calls), func(c runner.CallRecord) bool {
		return c.Outcome == string(call.KindArgument) || c.Outcome == string(call.KindDenied) // nothing was sent
	})
	if len(made) == 0 || o.quiet {
		return
	}
	fmt.Fprintf(o.app.Stderr, "mcprun: %s had been made before that:\n", cli.Count(len(made), "call"))
	const most = 20
	for i, c := range made {
		if i == most {
			fmt.Fprintf(o.app.Stderr, "  … and %d more\n", len(made)-most)
			break
		}
		fmt.Fprintf(o.app.Stderr, "  %s: %s\n", cli.CleanLine(c.Tool), c.Outcome)
	}
}

// printSummary says in a few lines what a run did.
func printSummary(w io.Writer, style cli.Style, res *runner.Result) {
	fmt.Fprintf(w, "%s %s, %.0f ms (ready after %.0f), exit code %d\n", style.Bold("run:"), res.Sandbox, res.DurationMS, res.StartMS, res.ExitCode)
	for _, c := range res.Calls {
		fmt.Fprintf(w, "  %s  %.1f ms, %s in, %s out, %s\n", cli.CleanLine(c.Tool), c.DurationMS, byteCount(c.ArgumentBytes), byteCount(c.ResultBytes), c.Outcome)
	}
	for _, f := range res.Files {
		fmt.Fprintf(w, "  wrote %s\n", cli.CleanLine(f))
	}
	if t := res.Tokens; t != nil {
		fmt.Fprintf(w, "%s the model reads %d tokens (script %d, wrappers %d, output %d); with direct tool calls it would read %d (definitions %d, arguments %d, results %d): %s\n",
			style.Bold("tokens:"), t.Used, t.Script, t.Wrappers, t.Output, t.Direct, t.Definitions, t.Arguments, t.Results,
			style.Green(fmt.Sprintf("%.1f %% saved", t.SavedPercent)))
	}
}
