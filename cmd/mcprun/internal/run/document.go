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
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workflow"
	"github.com/mcpgen/mcpgen/runner/workflow/document"
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

// DocumentCompiler returns a function that checks and compiles workflow documents with what a project has.
func DocumentCompiler(app *cli.App, at resources.Provider, o *project.LocationFlags, p *project.Project) (func(context.Context, *document.Document) (*document.Compiled, error), error) {
	opt := document.Options{}
	var err error
	if p.Tree != "" {
		if opt.Tree, err = gen.Open(gen.Options{Out: p.Tree}); err != nil {
			return nil, err
		}
	}
	store, err := skills.Open(app, o, p, "", skills.CheckFlags{})
	if err != nil {
		return nil, err
	}
	opt.Skill = func(name string) error { return skillProblem(store, name) }
	opt.Form = func(name string) error {
		f, err := o.Forms(app, p).Read(name)
		if err == nil && opt.Tree != nil {
			err = f.Check(opt.Tree)
		}
		return err
	}
	opt.Read = func(ctx context.Context, src script.Source) error {
		reading := script.Options{Tree: p.Tree, Closed: p.Trusted}
		if cache := app.CacheDir(); cache != "" {
			if reading.Skills, err = store.View(filepath.Join(cache, "skills")); err != nil {
				return err
			}
		}
		_, err := at.Bundler().Read(ctx, src, reading)
		return err
	}
	return func(ctx context.Context, d *document.Document) (*document.Compiled, error) {
		own := opt
		own.Dir = filepath.Dir(app.Path(d.File))
		return d.Compile(ctx, &own)
	}, nil
}

// skillProblem returns why a workflow cannot use a skill.
func skillProblem(store *skill.Store, name string) error {
	k, err := store.Load(name)
	if err != nil {
		return err
	}
	if k.Broken {
		return fmt.Errorf("the skill %s is broken: %s", k.Name, k.Reason())
	}
	return nil
}

// compile makes the script of the command's document the one that is run.
func (w *workflowCommand) compile(ctx context.Context) error {
	compile, err := DocumentCompiler(w.App, w.Resources, &w.LocationFlags, w.project)
	if err != nil {
		return err
	}
	c, err := compile(ctx, w.document)
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

// ready gives a program the expressions of the document that it was compiled from.
func ready(p *workflow.Program) (err error) {
	if len(p.Document) > 0 {
		p.Answers, err = document.Answers(p.Document)
	}
	return err
}
