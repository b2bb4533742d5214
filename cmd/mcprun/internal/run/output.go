package run

import (
	"errors"
	"fmt"
	"io"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/hostapi"
	"github.com/mcpgen/mcpgen/runner/trace"
)

// shownResult is a result with the images that the script showed, and where the run is logged.
type shownResult struct {
	*runner.Result
	Images []hostapi.ImageFile `json:"images,omitempty"`
	Logged *customers.Logged   `json:"logged,omitempty"`
	// Workflow is the id of the workflow whose last part it was.
	Workflow string `json:"workflow,omitempty"`
}

// report prints a run's result and returns its exit code as an error.
func (o *Options) report(res *runner.Result, script string) error {
	if o.JSON {
		if err := o.App.JSON(shownResult{res, o.shown, o.logged, o.workflow}); err != nil {
			return err
		}
	} else {
		if res.Message != "" && (res.ExitCode != 0 || !o.Quiet) {
			fmt.Fprintf(o.App.Stderr, "mcprun: %s\n", cli.Escape(res.Message))
		}
		if !o.Quiet {
			for _, line := range res.TypeErrors {
				fmt.Fprintf(o.App.Stderr, "mcprun: type error: %s\n", cli.EscapeLine(line))
			}
			o.printSkipped(res)
		}
		if o.verbose && !o.Quiet {
			printSummary(o.App.Stderr, o.App.ErrStyle(), res)
		}
	}
	if err := o.showTrace(res, script); err != nil {
		return cli.Quiet(o.App.Fail(err)) // the result is already on stdout
	}
	if res.ExitCode != 0 {
		return cli.Quiet(res.ExitCode)
	}
	return nil
}

// printSkipped lists the calls that a dry run skipped, with their arguments.
func (o *Options) printSkipped(res *runner.Result) {
	style, w, n := o.App.ErrStyle(), o.App.Stderr, 0
	for _, c := range res.Calls {
		if c.Outcome != chain.OutcomeDry {
			continue
		}
		if n++; n > maxSkipped {
			continue
		}
		why := ""
		if c.Skipped != "" {
			why = " (" + c.Skipped + ")"
		}
		fmt.Fprintf(w, "mcprun: %s skipped %s %s%s\n", style.Yellow("dry run:"), cli.EscapeLine(c.Tool), cli.EscapeLine(cli.Shorten(string(c.Arguments), term.MaxShown)), style.Dim(why))
	}
	if n > maxSkipped {
		fmt.Fprintf(w, "mcprun: %s skipped %d more; --json lists all\n", style.Yellow("dry run:"), n-maxSkipped)
	}
}

// maxSkipped is the maximum number of skipped calls that are listed for a person.
const maxSkipped = 200

// printSummary prints a summary of a run in a few lines.
func printSummary(w io.Writer, style cli.Style, res *runner.Result) {
	fmt.Fprintf(w, "%s %s, %.0f ms (ready after %.0f), exit code %d\n", style.Bold("run:"), res.Sandbox, res.DurationMS, res.StartMS, res.ExitCode)
	for _, c := range res.Calls {
		again := ""
		if c.Retries > 0 {
			again = ", retried " + cli.Count(c.Retries, "time")
		}
		fmt.Fprintf(w, "  %s  %.1f ms, %s in, %s out, %s%s\n", cli.EscapeLine(c.Tool), c.DurationMS, flags.Bytes(c.ArgumentBytes), flags.Bytes(c.ResultBytes), c.Outcome, again)
	}
	for _, f := range res.Files {
		fmt.Fprintf(w, "  wrote %s\n", cli.EscapeLine(f))
	}
	if t := res.Tokens; t != nil {
		fmt.Fprintf(w, "%s the model reads %d tokens (script %d, wrappers %d, output %d); with direct tool calls it would read %d (definitions %d, arguments %d, results %d): %s; with search-then-call %d: %s\n",
			style.Bold("tokens:"), t.Used, t.Script, t.Wrappers, t.Output, t.Direct, t.Definitions, t.Arguments, t.Results,
			savedWords(style, t.Used, t.Direct, t.SavedPercent), t.Search, savedWords(style, t.Used, t.Search, t.SavedSearchPercent))
	}
}

// savedWords describes the tokens that a run saved. A single short call may cost more than a direct one.
func savedWords(style cli.Style, used, other int, percent float64) string {
	if used > other {
		return fmt.Sprintf("%d more", used-other)
	}
	return style.Green(fmt.Sprintf("%.1f %% saved", percent))
}

// traceColumns is the width of a waterfall that is not printed to a terminal.
const traceColumns = 100

// showTrace prints or writes the trace, as --trace requests.
func (o *Options) showTrace(res *runner.Result, script string) error {
	switch o.trace {
	case "":
		return nil
	case traceTerminal:
		width := o.App.ErrColumns()
		if width == 0 {
			width = traceColumns
		}
		return trace.Text(o.App.Stderr, script, res, width)
	}
	f, err := create(o.App.Path(o.trace))
	if err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return errors.Join(trace.HTML(f, script, res), f.Close())
}
