package run

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// typeCheck reports type errors, and runs nothing.
func (o *Options) typeCheck(ctx context.Context, p *project.Project, s *runner.Script) error {
	found, err := o.typeErrors(ctx, p, s, false)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		err = o.App.JSON(map[string]any{"problems": append([]check.Problem{}, found...)})
	case len(found) > 0:
		printProblems(o.App.Stdout, o.App.OutStyle(), found)
	case !o.Quiet:
		fmt.Fprintf(o.App.Stderr, "mcprun: no type errors (%s)\n", s.Language)
	}
	if err == nil && len(found) > 0 {
		return cli.Quiet(1)
	}
	return err
}

// typeErrors runs the checker, in the background with the processor time that nothing else wants.
func (o *Options) typeErrors(ctx context.Context, p *project.Project, s *runner.Script, background bool) ([]check.Problem, error) {
	return check.Run(ctx, script.Source{Name: s.Name, Code: s.Code, Language: s.Language, Dir: s.Dir}, check.Options{
		Tree: p.Tree, Skills: p.Skills, Vars: s.Vars, LookPath: exec.LookPath, Background: background,
		TSC: o.TSC, Pyright: o.Pyright, Dir: o.App.Dir, Project: p.Base,
	})
}

// Bounds of a check beside a run: how long a failed script's errors are waited for, and how many are shown.
const (
	checkWait     = 2 * time.Second
	maxShownTypes = 10
)

// checkBeside checks the script while it runs, for a person at a terminal. Type errors are printed while the script still runs,
// or after it has failed; a checker that is not installed, or cannot check the script, is not mentioned. The caller calls end
// when the run has ended: it stops the checker.
func (o *Options) checkBeside(ctx context.Context, con *term.Console, p *project.Project, s *runner.Script) (end func(failed bool)) {
	if !o.App.Terminal.Stderr || o.Quiet || o.JSON {
		return func(bool) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		found, err := o.typeErrors(ctx, p, s, true)
		found = slices.DeleteFunc(found, func(f check.Problem) bool { return f.Code == "" }) // what the run itself reports
		if err != nil || len(found) == 0 || ctx.Err() != nil {
			return
		}
		var text strings.Builder
		printProblems(&text, o.App.ErrStyle(), found[:min(len(found), maxShownTypes)])
		con.Say("mcprun: the script has type errors:\n" + strings.TrimRight(text.String(), "\n"))
	}()
	return func(failed bool) {
		if failed {
			select {
			case <-done:
			case <-time.After(checkWait):
			}
		}
		cancel()
		<-done
	}
}

// printProblems shows each with its line, and a mark below where it begins.
func printProblems(w io.Writer, style cli.Style, all []check.Problem) {
	for _, p := range all {
		fmt.Fprintf(w, "%s %s %s\n", style.Cyan(fmt.Sprintf("%s:%d:%d:", cli.EscapeLine(p.File), p.Line, p.Column)), cli.Escape(p.Text), style.Dim(cli.EscapeLine(p.Code)))
		if p.Source != "" {
			line := strings.ReplaceAll(p.Source, "\t", " ") // one column each, as the mark needs it
			fmt.Fprintf(w, "    %s\n    %s%s\n", cli.EscapeLine(line), strings.Repeat(" ", max(0, p.Column-1)), style.Red("^"))
		}
	}
	fmt.Fprintln(w, style.Bold(cli.Count(len(all), "type error")))
}
