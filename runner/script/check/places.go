package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/check/tools"
)

// Places is where checkers are looked for; see [Places.Find]. The zero value finds none.
type Places struct {
	// TSC and Pyright name the checkers: a path, relative to Dir, or a name for LookPath. Empty: [Places.Find] looks for them.
	TSC, Pyright string
	Dir          string // empty: the working directory
	Project      string // a folder whose node_modules may hold the checkers; empty: none
	// LookPath finds a program by name, like exec.LookPath. Nil: only paths work, names are not found.
	LookPath func(name string) (string, error)
	// Tools is the folder of installed checkers, as [tools.Tool.Install] fills it. Empty: none.
	Tools string
	// Workspace is the folder that scripts write to: a checker that lies in it is not found, since a script may have written it. Empty: none.
	Workspace string
	// Program is the folder of the running program, which npm may have installed together with a checker. Empty: not looked at.
	Program string
}

// Checker is a program that finds type errors.
type Checker struct {
	Name    string   // tsc, pyright, or the name in the options
	Command []string // the program's absolute path, and its first arguments
	// From says where it was found, for people.
	From string
}

// Find returns the checker for a language: the one that the options name, else the first of
//
//  1. the project's own, in node_modules/.bin,
//  2. the one on PATH,
//  3. the installed one (mcprun tools install),
//  4. the one that npm installed together with this program.
//
// Without any, the error is a *MissingError.
func (p *Places) Find(language sandbox.Language) (*Checker, error) {
	found, err := p.find(language)
	if err != nil {
		return nil, err
	}
	for _, file := range found.Command {
		if p.inWorkspace(file) {
			return nil, &MissingError{Program: found.Name, Err: fmt.Errorf("%q lies in the workspace, where scripts write", file), python: language == sandbox.LangPython}
		}
	}
	return found, nil
}

// inWorkspace reports whether a file lies in the workspace.
func (p *Places) inWorkspace(file string) bool {
	workspace, err := filepath.EvalSymlinks(p.Workspace)
	if err != nil || p.Workspace == "" { // where nothing is, nothing was written
		return false
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return true
	}
	rel, err := filepath.Rel(workspace, file)
	return err == nil && filepath.IsLocal(rel)
}

func (p *Places) find(language sandbox.Language) (*Checker, error) {
	python := language == sandbox.LangPython
	name, named := "tsc", p.TSC
	if python {
		name, named = "pyright", p.Pyright
	}
	if named != "" {
		return p.named(named, python)
	}
	if p.Project != "" {
		own := filepath.Join(p.Project, "node_modules", ".bin", name)
		if runtime.GOOS == "windows" {
			own += ".cmd"
		}
		if info, err := os.Stat(own); err == nil && !info.IsDir() {
			return &Checker{Name: name, Command: []string{own}, From: "the project's"}, nil
		}
	}
	missing := &MissingError{Program: name, Err: exec.ErrNotFound, python: python}
	found, err := p.onPath(name)
	if err == nil {
		return &Checker{Name: name, Command: []string{found}, From: found}, nil
	}
	if !errors.Is(err, exec.ErrNotFound) {
		missing.Err = err
	}
	for _, t := range tools.All(runtime.GOOS, runtime.GOARCH) {
		if t.Name == name {
			if c := p.tool(&t, missing); c != nil {
				return c, nil
			}
		}
	}
	return nil, missing
}

// named returns the checker that the options name.
func (p *Places) named(name string, python bool) (*Checker, error) {
	if !strings.ContainsAny(name, `/\`) {
		found, err := p.onPath(name)
		if err != nil {
			return nil, &MissingError{Program: name, Err: err, python: python}
		}
		return &Checker{Name: filepath.Base(name), Command: []string{found}, From: found}, nil
	}
	if p.Dir != "" && !filepath.IsAbs(name) {
		name = filepath.Join(p.Dir, name)
	}
	path, err := filepath.Abs(name)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, &MissingError{Program: name, Err: err, python: python}
	}
	return &Checker{Name: filepath.Base(name), Command: []string{path}, From: path}, nil
}

func (p *Places) onPath(name string) (string, error) {
	if p.LookPath == nil {
		return "", errors.New("it is not a path")
	}
	found, err := p.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// tool returns a tool that is installed, or that came with this program. Where it cannot be started, missing says why.
func (p *Places) tool(t *tools.Tool, missing *MissingError) *Checker {
	from := "installed"
	file, ok := "", false
	if p.Tools != "" {
		file, ok = t.Installed(p.Tools)
	}
	if !ok && p.Program != "" {
		from = "from npm"
		file, ok = t.Beside(p.Program)
	}
	if !ok {
		return nil
	}
	c := &Checker{Name: t.Name, Command: []string{file}, From: t.Version + ", " + from}
	if t.Node {
		node, err := p.onPath("node")
		if err != nil {
			missing.node, missing.Err = true, err
			return nil
		}
		c.Command = []string{node, file}
	}
	return c
}

// MissingError reports that a checker is not installed.
type MissingError struct {
	Program string // tsc or pyright, or the name in the options
	Err     error
	python  bool
	node    bool // it is installed, and node is not
}

func (e *MissingError) Error() string {
	switch {
	case e.node:
		return fmt.Sprintf("the type checker %q is installed, but it needs node, which was not found: %v", e.Program, e.Err)
	case errors.Is(e.Err, exec.ErrNotFound):
		return fmt.Sprintf("the type checker %q is not installed", e.Program)
	}
	return fmt.Sprintf("find the type checker %q: %v", e.Program, e.Err)
}

func (e *MissingError) Unwrap() error { return e.Err }

// NeedsNode reports that the checker is installed, and node is not.
func (e *MissingError) NeedsNode() bool { return e.node }

// Hint says how to get the checker.
func (e *MissingError) Hint() string {
	switch {
	case e.node:
		return "install node (https://nodejs.org), or run `pip install pyright`"
	case e.python:
		return "install it with `mcprun tools install`, `npm install -g pyright` or `pip install pyright`, or give its path with --pyright"
	}
	return "install it with `mcprun tools install` or `npm install -g typescript`, or give its path with --tsc"
}
