package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// RestrictedError refuses a script that must be restricted but uses something that restricted scripts must not.
type RestrictedError struct {
	Script   string
	Findings []judge.Finding
}

func (e *RestrictedError) Error() string {
	return fmt.Sprintf("%s was not run: it does what restricted scripts may not do:\n%s", e.Script, lines(e.Findings))
}

// lines returns a line for each finding.
func lines(findings []judge.Finding) string {
	lines := make([]string, 0, len(findings))
	for _, f := range findings {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// maxFindings bounds the findings in an error.
const maxFindings = 10

// Hint says what to do.
func (e *RestrictedError) Hint() string { return "change the script, or run it without --restricted" }

// ExitCode returns the exit code for a script that was refused before it ran.
func (e *RestrictedError) ExitCode() int { return exit.Refused }

// parseTimeout bounds the parsing of a Python script in its sandbox.
const parseTimeout = 20 * time.Second

// Judge says what a script may do, without running any of it. A TypeScript script is read on this machine, a Python script by a Python in
// the first usable sandbox. Without a usable sandbox, a Python script is not judged, which counts as medium risk. Errors in a TypeScript
// script are a *script.Error; those in a Python script are in the report. A script that may run a skill without importing it by name gets
// the risk of the riskiest skill if that risk is critical.
func (r *Runner) Judge(ctx context.Context, s *Script, sandboxes []sandbox.Backend, opt judge.Options) (*judge.Report, error) {
	program, err := r.read(ctx, s)
	if program == nil {
		return nil, err
	}
	return r.judge(ctx, s, program, sandboxes, opt)
}

// judge judges a script as it was read.
func (r *Runner) judge(ctx context.Context, s *Script, program *script.Program, sandboxes []sandbox.Backend, opt judge.Options) (*judge.Report, error) {
	report, err := r.judgeProgram(ctx, s, program, sandboxes, opt)
	if err == nil && r.opt.Skills != "" && report.Has("skill") {
		err = r.addSkills(ctx, report, s.Language, sandboxes, opt)
	}
	return report, err
}

// addSkills adds what a script may do that can run any skill. Skills that cannot be read leave the finding that the script runs one.
func (r *Runner) addSkills(ctx context.Context, report *judge.Report, language sandbox.Language, sandboxes []sandbox.Backend, opt judge.Options) error {
	all := Script{Name: "skills" + language.Extensions()[0], Code: importAll(r.opt.Skills, language), Language: language}
	if all.Code == "" {
		return nil
	}
	program, _ := r.read(ctx, &all)
	if program == nil {
		return ctx.Err()
	}
	opt.Quick = false
	skills, err := r.judgeProgram(ctx, &all, program, sandboxes, opt)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		report.Add(slices.DeleteFunc(skills.Findings, func(f judge.Finding) bool { return f.Risk < risk.Critical }))
		report.Operations = append(report.Operations, skills.Operations...)
	}
	return nil
}

// importAll returns a script that imports every skill in a folder.
func importAll(dir string, language sandbox.Language) string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var code strings.Builder
	for _, entry := range list {
		if language == sandbox.LangPython {
			fmt.Fprintf(&code, "import skills.%s\n", ident.Snake(entry.Name()))
		} else {
			fmt.Fprintf(&code, "import %q;\n", "./skills/"+entry.Name())
		}
	}
	return code.String()
}

func (r *Runner) judgeProgram(ctx context.Context, s *Script, program *script.Program, sandboxes []sandbox.Backend, opt judge.Options) (*judge.Report, error) {
	opt.Tools, opt.Script = r.tool, s.Name
	opt.MaxBranches, opt.Installed = s.MaxBranches, isInstalled(r.opt.Packages, s.Language)
	opt.Python = s.Language == sandbox.LangPython
	if !opt.Python {
		return program.Facts.Judge(&opt), nil
	}
	if opt.Quick {
		if report, ok := judge.PlainPython(program.Texts, r.destructive()); ok {
			return report, nil
		}
	}
	trees, err := r.parsePython(ctx, program.Texts, sandboxes)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return judge.Unjudged(s.Name, err.Error()), nil
	}
	facts := &judge.Facts{}
	if err := facts.Python(program.Texts, program.Files, trees); err != nil {
		return nil, err
	}
	return facts.Judge(&opt), nil
}

// Digest returns the digest of a script and of all files and skills that it imports; see script.Program. They are not read again when it is
// launched.
func (r *Runner) Digest(ctx context.Context, s *Script) (string, error) {
	program, err := r.read(ctx, s)
	if program == nil {
		return "", err
	}
	return program.Digest, nil
}

// parsePython returns the trees of Python files.
func (r *Runner) parsePython(ctx context.Context, texts map[string]string, sandboxes []sandbox.Backend) (json.RawMessage, error) {
	choice, err := chooseUsable(ctx, sandboxes, Need{Name: Auto, Language: sandbox.LangPython, Risk: risk.Assessment{Set: risk.Low}})
	if err != nil {
		return nil, errors.New("there is no Python here to read the script with")
	}
	code, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	parser := Script{
		Name: "parse.py", Code: judge.PythonProgram(), Language: sandbox.LangPython, Backend: choice.Backend, Timeout: parseTimeout,
		Vars: map[string]json.RawMessage{judge.PythonFiles: code},
	}
	program, err := r.read(ctx, &parser)
	if err != nil {
		return nil, err
	}
	res, err := r.run(ctx, parser, program, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the script: %w", err)
	case res.ExitCode != 0 || res.Value == nil:
		why := res.Message
		if res.Error != nil {
			why = res.Error.Error()
		}
		return nil, fmt.Errorf("read the script in sandbox %s: exit code %d, %s", res.Sandbox, res.ExitCode, why)
	}
	return res.Value, nil
}

// destructive returns the names of the Python functions of tools that their servers mark as destructive.
func (r *Runner) destructive() []string {
	var names []string
	for _, server := range r.catalog.Servers {
		for _, t := range server.Tools {
			if t.Hints.Destructive != nil && *t.Hints.Destructive {
				names = append(names, t.ID, ident.Snake(t.Name))
			}
		}
	}
	return names
}

// tool finds a tool by its id, or by its server's folder and its name in any spelling. The name * stands for all tools of a server.
func (r *Runner) tool(name string) (judge.Tool, bool) {
	if server, tool, ok := r.catalog.Lookup(name); ok {
		return r.judgedTool(server.Key, tool.Name, tool.ID, tool.Hints.ReadOnly, tool.Hints.Destructive), true
	}
	dir, member, ok := strings.Cut(name, "/")
	if !ok {
		return judge.Tool{}, false
	}
	for i := range r.catalog.Servers {
		server := &r.catalog.Servers[i]
		if spelled(server.Dir) != spelled(dir) {
			continue
		}
		all := judge.Tool{ID: server.Dir + "__*", ReadOnly: true}
		for _, t := range server.Tools {
			one := r.judgedTool(server.Key, t.Name, t.ID, t.Hints.ReadOnly, t.Hints.Destructive)
			all.ReadOnly, all.Destructive = all.ReadOnly && one.ReadOnly, all.Destructive || one.Destructive
			if spelled(strings.TrimPrefix(t.ID, server.Dir+"__")) == spelled(member) {
				return one, true
			}
		}
		return all, member == "*"
	}
	return judge.Tool{}, false
}

func (r *Runner) judgedTool(server, name, id string, readOnly, destructive *bool) judge.Tool {
	set := r.opt.Servers[server]
	return judge.Tool{ID: id, ReadOnly: config.Believed(set.ReadOnly, set.Trusted, name, readOnly), Destructive: destructive != nil && *destructive}
}

// spelled returns a name in the spelling that camel, snake and kebab case have in common.
func spelled(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// refuse returns a *RestrictedError if the report says that the script is not restricted, or nil if it is.
func refuse(name string, report *judge.Report) error {
	if found := report.Refused(); len(found) > 0 {
		return &RestrictedError{Script: name, Findings: slices.Clip(found[:min(len(found), maxFindings)])}
	}
	return nil
}
