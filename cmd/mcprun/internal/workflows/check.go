package workflows

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/runner/workflow/document"
)

// documents reads workflow documents with what a project has.
type documents struct {
	app  *cli.App
	host resources.Provider
	project.LocationFlags
	json bool
}

// newCheckCommand returns the command workflow check.
func newCheckCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &documents{app: app, host: at}
	cmd := &cobra.Command{
		Use: "check FILE...", Short: "Check workflow documents, and run nothing",
		Long: `check reads workflow documents and compares them with the tree: tools and their arguments,
skills and scripts, expressions, and the order of tasks. It lists all problems with line and
column. The exit code is 1 if there are any.`,
		Example: "  mcprun workflow check lead-routing.workflow.yaml\n  mcprun workflow check --json workflows/*.yaml",
		Args:    cli.Args(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.check(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
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
			compiler, err := o.open(cmd.Context())
			if err != nil {
				return err
			}
			c, err := compiler(args[0])
			if err != nil {
				return o.failed(err)
			}
			_, err = fmt.Fprint(app.Stdout, c.Code)
			return err
		},
	}
	o.LocationFlags.Bind(cmd.Flags())
	o.BindForms(cmd.Flags())
	return cmd
}

// checked is the output of check --json.
type checked struct {
	Files    []string           `json:"files"`
	Problems []document.Problem `json:"problems"`
}

func (o *documents) check(ctx context.Context, files []string) error {
	compile, err := o.open(ctx)
	if err != nil {
		return err
	}
	out := checked{Files: files, Problems: []document.Problem{}}
	for _, file := range files {
		_, err := compile(file)
		if found, ok := errors.AsType[*document.Problems](err); ok {
			out.Problems = append(out.Problems, found.List...)
		} else if err != nil {
			return err
		}
	}
	if o.json {
		if err := o.app.JSON(out); err != nil {
			return err
		}
	} else if len(out.Problems) == 0 {
		fmt.Fprintf(o.app.Stdout, "%s checked, no problems\n", cli.Count(len(files), "workflow"))
	}
	if len(out.Problems) == 0 {
		return nil
	}
	if !o.json {
		o.print(out.Problems)
	}
	return cli.Quiet(1)
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

// open returns a function that reads and compiles a document of the project.
func (o *documents) open(ctx context.Context) (func(file string) (*document.Compiled, error), error) {
	p, err := o.OpenToRead(o.app, o.host, o.app.Stderr)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	compile, err := run.DocumentCompiler(o.app, o.host, &o.LocationFlags, p)
	if err != nil {
		return nil, err
	}
	return func(file string) (*document.Compiled, error) {
		d, err := run.ReadDocument(o.app, file)
		if err != nil {
			return nil, err
		}
		return compile(ctx, d)
	}, nil
}
