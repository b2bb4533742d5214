package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

// JavaScript adds the facts of a TypeScript or JavaScript file: text is what a person wrote, code the JavaScript that was made of
// it, with its source map. It returns the modules that the file imports under names that are known, also computed ones. Nesting in
// code is bounded by nothing but the stack, so that the caller must be a process that may end.
func (f *Facts) JavaScript(name, text string, code, sourceMap []byte) ([]string, error) {
	f.Files = append(f.Files, name)
	file, err := syntax.JavaScript(name, text, code, sourceMap)
	if err != nil {
		return nil, f.unreadable(name, err)
	}
	return f.analyze(&analysis{file: name, text: text, place: file.Place}, file.Root), nil
}

// PythonProgram returns a Python script that parses files: its variable [PythonFiles] holds their texts by name, and its result
// is the argument trees of [Facts.Python]. It has to run in a sandbox, and runs nothing of the files.
func PythonProgram() string { return syntax.PythonProgram() }

// PythonFiles is the name of the variable.
const PythonFiles = "code"

// Python adds the facts of Python files whose trees [PythonProgram] returned.
func (f *Facts) Python(texts map[string]string, order []string, trees json.RawMessage) error {
	var all map[string]*syntax.PythonTree
	if err := json.Unmarshal(trees, &all); err != nil {
		return fmt.Errorf("parse Python files: %w", err)
	}
	f.own, f.Files = map[string]bool{}, append(f.Files, order...)
	for _, name := range order {
		f.own[strings.TrimSuffix(topFolder(name), ".py")] = true
	}
	for _, name := range order {
		file, err := syntax.Python(texts[name], all[name])
		if err != nil {
			if err := f.unreadable(name, err); err != nil {
				return fmt.Errorf("parse Python file %.100q: %w", name, err)
			}
			continue
		}
		f.analyze(&analysis{file: name, text: texts[name], python: true, place: file.Place}, file.Root)
	}
	return nil
}

// topFolder returns the first part of a file's name: a folder is a package.
func topFolder(name string) string {
	top, _, _ := strings.Cut(name, "/")
	return top
}

// unreadable notes a problem of the file itself, and returns any other error.
func (f *Facts) unreadable(name string, err error) error {
	problem, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err
	}
	f.Unreadable = append(f.Unreadable, Problem{File: name, Line: problem.Line, Column: problem.Column, Text: problem.Text})
	return nil
}
