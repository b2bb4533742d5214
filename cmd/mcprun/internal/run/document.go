package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/packages"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/workflow"
	"github.com/mcpgen/mcpgen/runner/workflow/document"
	"github.com/mcpgen/mcpgen/runner/workflow/folder"
)

// isDocument reports whether a file is a workflow document, by its name.
func isDocument(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(file)))
}

// ReadDocument reads a workflow document whose file is given on the command line.
func ReadDocument(app *cli.App, file string) (*document.Document, error) {
	f, err := os.Open(app.Path(file))
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("read the workflow: %w", err)}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, document.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the workflow: %w", err)
	}
	return document.Read(strings.TrimPrefix(file, "./"), text)
}

// WorkflowChecker returns what checks and compiles workflows with what a project has. checkers are the programs that check the types of scripts.
func WorkflowChecker(app *cli.App, at resources.Provider, o *project.LocationFlags, p *project.Project, checkers skills.CheckFlags) (*folder.Checker, error) {
	c := &folder.Checker{Bundler: at.Bundler()}
	var err error
	if p.Tree != "" {
		if c.Tree, err = gen.Open(gen.Options{Out: p.Tree}); err != nil {
			return nil, err
		}
	}
	if c.Skills, err = skills.Open(app, o, p, "", checkers); err != nil {
		return nil, err
	}
	c.Form = func(name string) error {
		f, err := o.Forms(app, p).Read(name)
		if err == nil && c.Tree != nil {
			err = f.Check(c.Tree)
		}
		return err
	}
	c.Reading = func() (script.Options, error) {
		reading := runner.Options{Tree: p.Tree, Trusted: p.Trusted}
		var err error
		if reading.Packages, err = packages.ToRead(app, o, p); err != nil {
			p.Log.Debug("packages are not known", "error", err)
		}
		if cache := app.CacheDir(); cache != "" {
			if reading.Skills, err = c.Skills.View(filepath.Join(cache, "skills")); err != nil {
				return script.Options{}, err
			}
		}
		return reading.Reading(), nil
	}
	return c, nil
}

// compile makes the script of the command's document the one that is run.
func (w *workflowCommand) compile(ctx context.Context) error {
	checker, err := WorkflowChecker(w.App, w.Resources, &w.LocationFlags, w.project, w.CheckFlags)
	if err != nil {
		return err
	}
	c, err := checker.Compile(ctx, w.document, filepath.Dir(w.App.Path(w.document.File)))
	if err != nil {
		return err
	}
	if len(w.input) == 0 {
		w.input = []byte("{}")
	}
	if err := c.CheckInput(w.input); err != nil {
		return &cli.UsageError{Err: err}
	}
	w.Base.Name, w.Base.Code, w.Base.Language, w.Base.Dir = c.Script(), c.Code, sandbox.LangTypeScript, filepath.Dir(w.App.Path(c.File))
	return nil
}

// WorkflowReady gives a program the expressions of the document that it was compiled from.
func WorkflowReady(p *workflow.Program) (err error) {
	if len(p.Document) > 0 {
		p.Answers, err = document.Answers(p.Document)
	}
	return err
}
