package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/call"
)

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
		}
		if res.Cause != runner.CauseExit {
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
