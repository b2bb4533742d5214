package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workflow"
	"github.com/mcpgen/mcpgen/runner/workflow/folder"
)

// toolName matches names of tools that all hosts accept.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// workflowFiles returns a text that changes when a file in the folder of workflows changes.
func (b *snapshot) workflowFiles() (text string) {
	dir, _ := b.o.run.Workflows(b.o.app, b.project)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			text += fmt.Sprintf("%q %d %v\n", e.Name(), info.Size(), info.ModTime())
		}
	}
	return text
}

// offered returns the workflows of the project that clients may run. Those that are broken are logged.
func (b *snapshot) offered(ctx context.Context) ([]mcpserver.Workflow, error) {
	dir, shown := b.o.run.Workflows(b.o.app, b.project)
	files, err := folder.List(dir, shown)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	checker, err := run.WorkflowChecker(b.o.app, b.live.at, &b.o.run.LocationFlags, b.project, skills.CheckFlags{})
	if err != nil {
		return nil, err
	}
	checker.NoTypes = true
	var all []mcpserver.Workflow
	for _, f := range files {
		if err := checker.Check(ctx, f); err != nil {
			return nil, err
		}
		if len(f.Problems) > 0 {
			b.log.Warn("a workflow is broken, and not offered", "problem", f.Problems[0].String(), "problems", len(f.Problems))
			continue
		}
		w := workflowOf(f)
		if !toolName.MatchString(w.Name) {
			b.log.Warn("a workflow is not offered: its name, which that of its tool would be, has other characters than letters, digits and - _ .", "workflow", f.Name)
			continue
		}
		all = append(all, w)
	}
	return all, nil
}

// workflowOf returns a workflow that is not broken as a tool.
func workflowOf(f *folder.File) mcpserver.Workflow {
	if s := f.Script; s != nil {
		name := strings.TrimSuffix(s.Name, filepath.Ext(s.Name))
		return mcpserver.Workflow{Name: name, Description: "Run the workflow " + name + ".", Program: workflow.Program{Name: s.Name, Code: s.Code, Language: s.Language, Dir: s.Dir}}
	}
	d := f.Compiled
	w := mcpserver.Workflow{
		Name: d.Name, Description: ident.Clip(ident.CleanLine(cmp.Or(d.Title, "Run the workflow "+d.Name+".")), 300),
		Program: workflow.Program{Name: filepath.Base(f.Path), Code: d.Code, Language: sandbox.LangTypeScript, Dir: filepath.Dir(f.Path), Document: d.Text},
	}
	var compact bytes.Buffer
	if d.Input != nil && json.Compact(&compact, d.Input) == nil {
		w.Input = compact.Bytes()
	}
	return w
}

// runPart runs a part of a workflow that a client has started.
func (l *live) runPart(ctx context.Context, p *workflow.Part, job *mcpserver.Job) (*runner.Result, error) {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := b.script(p.Program.Language, p.Program.Code)
	p.Apply(s)
	job.Vars, job.Language = s.Vars, string(p.Program.Language)
	return b.runRecorded(ctx, job, s, err)
}

// digest returns the digest of what a workflow runs.
func (l *live) digest(ctx context.Context, p *workflow.Program) (string, error) {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	s, err := b.script(p.Language, p.Code)
	if err != nil {
		return "", err
	}
	(&workflow.Part{Program: p}).Apply(s)
	shown, err := b.o.run.ShowSkills(ctx, func() (*skill.Store, error) { return b.skillsOf("") }, b.project, b.shown(&mcpserver.Customer{}), s, func(string) {})
	if err != nil {
		return "", err
	}
	at, done, err := b.environment(ctx, shown)
	if err != nil {
		return "", err
	}
	defer done()
	return at.Runner.Digest(ctx, s)
}
