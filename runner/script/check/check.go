// Package check finds the type errors of a script before it runs, with the compilers that people have: TypeScript's tsc
// (5.4 or newer) and pyright. Start with [Run].
//
// A script is hostile. So the checker never sees its folder: it gets a private one with copies of what the script may import (the
// tree, skills, files beside it) and a configuration that allows nothing else. It gets no path of a Python, so that it starts none,
// and its time and output are bounded.
//
// The rules are those of an editor with strict types, except for those that quick scripts often break and that do not concern the
// tree. The following are any: parameters without a type, members that an object literal initializes with [] or null, variables of
// catch clauses, and results of tools without an output schema. Enums of strings are string, and null and None are allowed anywhere.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
)

// DefaultTimeout bounds a check when Options.Timeout is zero.
const DefaultTimeout = 60 * time.Second

// maxProblems bounds how many problems are returned.
const maxProblems = 100

// Options configure [Run]. The zero value checks scripts that import nothing.
type Options struct {
	// Tree and Skills are the absolute folders of the generated tree and of saved scripts. Empty: none.
	Tree, Skills string
	// Packages are the installed packages that scripts may import. Nil: none.
	Packages *packages.Set
	// Vars are the variables that the script gets; values are JSON.
	Vars map[string]json.RawMessage
	// Read is the script as it was read for a run. Nil: Run reads it itself, in this process and without limits.
	Read *script.Program
	Places
	// Timeout bounds the check. Zero: DefaultTimeout.
	Timeout time.Duration
}

// Problem is an error in a script, with its place.
type Problem struct {
	File   string `json:"file"`   // as people know it: the script's name, skills/NAME/…
	Line   int    `json:"line"`   // from 1; zero when the problem has no place
	Column int    `json:"column"` // from 1, in bytes; zero when it is not known
	Code   string `json:"code"`   // the checker's name for it: TS2345, reportCallIssue; may be empty
	Text   string `json:"text"`   // may have several lines
	Source string `json:"source"` // the line, when it is known
	Tree   bool   `json:"-"`      // it is about a type that the tree declares
}

// String returns the problem as compilers print it, with the line and a caret below it.
func (p Problem) String() string {
	text := p.Text
	if p.Code != "" {
		text += " (" + p.Code + ")"
	}
	return script.Problem{File: p.File, Line: p.Line, Column: p.Column, Text: text, Source: p.Source}.String()
}

// Run checks a script, without running any of it, and returns its problems. An error means that it could not be checked.
func Run(ctx context.Context, src script.Source, opt Options) ([]Problem, error) {
	python := src.Language == sandbox.LangPython
	program, err := opt.Find(src.Language)
	if err != nil {
		return nil, err
	}
	read := opt.Read
	if read == nil {
		read, err = script.Read(ctx, src, script.Options{Tree: opt.Tree, Skills: opt.Skills, Packages: opt.Packages.JavaScript()})
	}
	var known []Problem // why it cannot be bundled
	var bad *script.Error
	if errors.As(err, &bad) {
		if known = fromScript(bad); python || !placed(known) {
			return known, nil
		}
	} else if err != nil {
		return nil, err
	}
	timeout := opt.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it did not finish within %v", timeout))
	defer cancel()
	m, err := newMirror()
	if err != nil {
		return nil, err
	}
	defer m.remove()
	c := &checker{src: src, opt: opt, program: program, mirror: m}
	var problems []Problem
	if python {
		problems, err = c.python(ctx, read.Modules)
	} else {
		problems, err = c.typescript(ctx)
	}
	if err != nil && len(known) > 0 {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check the types of %s with %s: %w", src.Name, program.Name, err)
	}
	for i := range problems {
		problems[i].Tree = c.types.about(problems[i].Text)
	}
	problems = slices.Concat(known, further(known, problems))
	return problems[:min(len(problems), maxProblems)], nil
}

// placed reports whether each problem has a place. Those of a text that cannot be parsed have none.
func placed(problems []Problem) bool {
	return !slices.ContainsFunc(problems, func(p Problem) bool { return p.Line == 0 || p.Column == 0 })
}

// syntax matches the codes of syntax errors of tsc, which reports more of them than there are.
var syntax = regexp.MustCompile(`^TS1\d{3}$`)

// further returns the compiler's problems at other places than the known ones, such as a wrong argument after a bad import.
func further(known, found []Problem) []Problem {
	if len(known) == 0 {
		return found
	}
	type place struct {
		file         string
		line, column int
	}
	told := map[place]bool{}
	for _, p := range known {
		told[place{p.File, p.Line, p.Column}] = true
	}
	return slices.DeleteFunc(found, func(p Problem) bool {
		return syntax.MatchString(p.Code) || told[place{p.File, p.Line, p.Column}]
	})
}

// checker is the state of one check.
type checker struct {
	src     script.Source
	opt     Options
	program *Checker
	mirror  *mirror
	types   treeTypes
}

func fromScript(e *script.Error) []Problem {
	problems := make([]Problem, len(e.Problems))
	for i, p := range e.Problems {
		problems[i] = Problem{File: p.File, Line: p.Line, Column: p.Column, Text: strings.Join(append([]string{p.Text}, p.Notes...), "\n  "), Source: p.Source}
	}
	return problems
}

// SessionVariable is the variable that says what was done for the customer before. Every script that reads it has it, so that one of a task can be
// kept; it is null unless the run is for a customer for whom something was done.
const SessionVariable = "session"

// variables returns the names of the variables that are identifiers.
func (o *Options) variables() []string {
	names := []string{SessionVariable}
	for name := range o.Vars {
		if name != SessionVariable && pyimport.IsIdentifier(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// kindOf returns the type of a JSON value: string, number, boolean, or any.
func kindOf(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return "any"
	}
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "any"
}

// lineAt returns a line of a text, from 1, without its end.
func lineAt(text string, line int) string {
	for range line - 1 {
		_, after, found := strings.Cut(text, "\n")
		if !found {
			return ""
		}
		text = after
	}
	line1, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line1, "\r")
}

// bytesOf converts a column in UTF-16 units, from 0, to one in bytes.
func bytesOf(line string, units int) int {
	at := 0
	for units > 0 && at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		at += n
		units--
		if r > 0xffff {
			units--
		}
	}
	return at
}

// cut shortens the output of a checker, which may repeat the script.
func cut(text string) string { return ident.Clip(text, 2000) }
