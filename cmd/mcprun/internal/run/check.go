package run

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// typeCheck reports type errors, and runs nothing.
func (o *Options) typeCheck(ctx context.Context, p *project.Project, s *runner.Script) error {
	found, err := o.typeErrors(ctx, p, s)
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

// typeErrors runs the checker.
func (o *Options) typeErrors(ctx context.Context, p *project.Project, s *runner.Script) ([]check.Problem, error) {
	places := o.CheckFlags.Places(o.App, p)
	if dir := o.App.Path(o.Base.Workspace); dir != "" {
		places.Workspace = dir
	}
	set, err := o.installed()
	if err != nil {
		return nil, err
	}
	return check.Run(ctx, script.Source{Name: s.Name, Code: s.Code, Language: s.Language, Dir: s.Dir}, check.Options{
		Tree: p.Tree, Skills: p.Skills, Packages: set, Vars: s.Vars, Places: places,
	})
}

// printProblems shows each problem with its line, and a mark below the place where it begins.
func printProblems(w io.Writer, style cli.Style, all []check.Problem) {
	for _, p := range all {
		fmt.Fprintf(w, "%s %s %s\n", style.Cyan(fmt.Sprintf("%s:%d:%d:", cli.EscapeLine(p.File), p.Line, p.Column)), cli.Escape(p.Text), style.Dim(cli.EscapeLine(p.Code)))
		if p.Source != "" {
			line := strings.ReplaceAll(p.Source, "\t", " ") // one column each, so that the mark is below the right place
			fmt.Fprintf(w, "    %s\n    %s%s\n", cli.EscapeLine(line), strings.Repeat(" ", max(0, p.Column-1)), style.Red("^"))
		}
	}
	fmt.Fprintln(w, style.Bold(cli.Count(len(all), "type error")))
}
