package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// checkOptions are about type errors of a script.
type checkOptions struct {
	check   bool
	tsc     string
	pyright string
}

func (o *checkOptions) bind(f *pflag.FlagSet) {
	f.BoolVar(&o.check, "check", false, "tell its type errors against the tree, and run nothing")
	f.Var(word{&o.tsc, "program"}, "tsc", "TypeScript's, for --check (default the project's, else on PATH)")
	f.Var(word{&o.pyright, "program"}, "pyright", "for --check of Python (default the project's, else on PATH)")
}

// checked is what --check --json prints.
type checked struct {
	Problems []problem `json:"problems"`
}

type problem struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Code   string `json:"code"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

// typeCheck reports type errors, and runs nothing.
func (o *runOptions) typeCheck(ctx context.Context, p *project, run *plan) error {
	src := run.Source
	found, err := check.Run(ctx, script.Source{Name: src.Name, Code: src.Code, Language: src.Language, Dir: src.Dir}, check.Options{
		Tree: p.tree, Skills: p.skills, Vars: run.Vars, LookPath: exec.LookPath,
		TSC: o.checker(o.tsc, "tsc", p), Pyright: o.checker(o.pyright, "pyright", p),
	})
	if err != nil {
		return err
	}
	out := checked{Problems: []problem{}}
	for _, f := range found {
		out.Problems = append(out.Problems, problem{f.File, f.Line, f.Column, f.Code, f.Text, f.Source})
	}
	if o.json {
		err = o.app.JSON(out)
	} else {
		o.printProblems(src.Language, out.Problems)
	}
	if err == nil && len(found) > 0 {
		return cli.Quiet(1)
	}
	return err
}

// checker is the program to run: the one that was named, else the project's own, else the one on PATH.
func (o *runOptions) checker(named, name string, p *project) string {
	if named != "" {
		if strings.ContainsRune(filepath.ToSlash(named), '/') {
			return o.app.Path(named)
		}
		return named
	}
	if runtime.GOOS == "windows" {
		name += ".cmd"
	}
	own := filepath.Join(p.base, "node_modules", ".bin", name)
	if info, err := os.Stat(own); err == nil && !info.IsDir() {
		return own
	}
	return ""
}

// printProblems shows each with its line, and a mark below where it begins.
func (o *runOptions) printProblems(lang sandbox.Language, all []problem) {
	style, w := o.app.OutStyle(), o.app.Stdout
	for _, p := range all {
		fmt.Fprintf(w, "%s %s %s\n", style.Cyan(fmt.Sprintf("%s:%d:%d:", cli.CleanLine(p.File), p.Line, p.Column)), cli.Clean(p.Text), style.Dim(cli.CleanLine(p.Code)))
		if p.Source != "" {
			line := strings.ReplaceAll(p.Source, "\t", " ") // one column each, as the mark needs it
			fmt.Fprintf(w, "    %s\n    %s%s\n", cli.CleanLine(line), strings.Repeat(" ", max(0, p.Column-1)), style.Red("^"))
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(w, style.Bold(cli.Count(len(all), "type error")))
	} else if !o.quiet {
		fmt.Fprintf(o.app.Stderr, "mcprun: no type errors (%s)\n", lang)
	}
}
