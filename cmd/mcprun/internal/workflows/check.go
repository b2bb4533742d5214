package workflows

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/workflow/document"
	"github.com/mcpgen/mcpgen/runner/workflow/folder"
)

// documents reads workflow documents with what a project has.
type documents struct {
	app  *cli.App
	host resources.Provider
	project.LocationFlags
	skills.CheckFlags
	cmd  *cobra.Command
	json bool
}

// newCheckCommand returns the command workflow check.
func newCheckCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &documents{app: app, host: at}
	cmd := &cobra.Command{
		Use: "check [FILE...]", Short: "Check workflows, and run nothing",
		Long: `check reads workflows, by default those in the folder workflows/, and compares them with the tree. Of
documents it checks tools and their arguments, skills and scripts, expressions, and the order of tasks.
Of scripts it checks imports, and types if tsc or pyright is installed. It lists all problems with line
and column. The exit code is 1 if there are any.`,
		Example: "  mcprun workflow check\n  mcprun workflow check --json lead-routing.workflow.yaml onboard.ts",
		RunE:    func(_ *cobra.Command, args []string) error { return o.check(args) },
	}
	o.cmd = cmd
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	o.BindCheckers(cmd.Flags())
	o.BindWorkflows(cmd.Flags())
	o.LocationFlags.Bind(cmd.Flags())
	o.BindForms(cmd.Flags())
	return cmd
}

// newCompileCommand returns the command workflow compile.
func newCompileCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &documents{app: app, host: at}
	cmd := &cobra.Command{
		Use: "compile FILE", Short: "Print the script that a workflow document becomes",
		Long: `compile checks a workflow document and prints the TypeScript that mcprun runs for it. The
script is for reading: its expressions are known only to a run of the document.`,
		Example: "  mcprun workflow compile lead-routing.workflow.yaml",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, checker, err := o.open()
			if err != nil {
				return err
			}
			defer p.Close()
			d, err := run.ReadDocument(app, args[0])
			var c *document.Compiled
			if err == nil {
				c, err = checker.Compile(cmd.Context(), d, filepath.Dir(app.Path(args[0])))
			}
			if err != nil {
				return o.failed(err)
			}
			_, err = fmt.Fprint(app.Stdout, c.Code)
			return err
		},
	}
	o.cmd = cmd
	o.LocationFlags.Bind(cmd.Flags())
	o.BindForms(cmd.Flags())
	return cmd
}

// checked is the output of check --json.
type checked struct {
	Files    []string           `json:"files"`
	Problems []document.Problem `json:"problems"`
}

func (o *documents) check(names []string) error {
	ctx := o.cmd.Context()
	p, checker, err := o.open()
	if err != nil {
		return err
	}
	defer p.Close()
	var all []*folder.File
	if len(names) == 0 {
		if all, err = folder.List(o.Workflows(o.app, p)); err != nil {
			return err
		}
	}
	for _, name := range names {
		f, err := o.read(name)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	if p.Cfg != nil && slices.ContainsFunc(all, func(f *folder.File) bool { return f.Script != nil }) { // it may name type checkers
		if err := o.Consent(ctx, o.app, o.host, p.Cfg); err != nil {
			return err
		}
	}
	out, said := checked{Files: []string{}, Problems: []document.Problem{}}, map[string]bool{}
	for _, f := range all {
		if err := checker.Check(ctx, f); err != nil {
			return err
		}
		out.Files, out.Problems = append(out.Files, f.Name), append(out.Problems, f.Problems...)
		if why := f.Unchecked; why != nil && !said[why.Error()] {
			said[why.Error()] = true
			fmt.Fprintf(o.app.Stderr, "mcprun: %s\n", cli.EscapeLine(why.Error()))
		}
	}
	if o.json {
		err = o.app.JSON(out)
	} else if o.print(out.Problems); len(out.Problems) == 0 {
		fmt.Fprintf(o.app.Stdout, "%s checked, no problems\n", cli.Count(len(all), "workflow"))
	}
	if err == nil && len(out.Problems) > 0 {
		return cli.Quiet(1)
	}
	return err
}

// read reads a file that is named on the command line.
func (o *documents) read(name string) (*folder.File, error) {
	f := &folder.File{Path: o.app.Path(name), Name: name}
	if sandbox.LanguageOf(name) != "" {
		s := runner.Script{}
		if err := source.FromFile(&s, f.Path, ""); err != nil {
			return nil, err
		}
		f.Script = &script.Source{Name: s.Name, Code: s.Code, Language: s.Language, Dir: s.Dir}
		return f, nil
	}
	d, err := run.ReadDocument(o.app, name)
	if found, ok := errors.AsType[*document.Problems](err); ok {
		f.Problems, err = found.List, nil
	}
	f.Document = d
	return f, err
}

// failed prints problems, and returns what is left of the error.
func (o *documents) failed(err error) error {
	if found, ok := errors.AsType[*document.Problems](err); ok {
		o.print(found.List)
		return cli.Quiet(1)
	}
	return err
}

func (o *documents) print(problems []document.Problem) {
	for _, p := range problems {
		fmt.Fprintln(o.app.Stderr, cli.EscapeLine(p.String()))
	}
}

// open opens the project, and what checks its workflows. The caller closes the project.
func (o *documents) open() (*project.Project, *folder.Checker, error) {
	p, err := o.OpenToRead(o.app, o.host, o.app.Stderr)
	if err != nil {
		return nil, nil, err
	}
	err = flags.ApplyDefaults(o.app, o.cmd.Flags(), &p.Settings)
	var checker *folder.Checker
	if err == nil {
		checker, err = run.WorkflowChecker(o.app, o.host, &o.LocationFlags, p, o.CheckFlags)
	}
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	return p, checker, nil
}
