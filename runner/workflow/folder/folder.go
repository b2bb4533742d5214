// Package folder reads a project's folder of workflows, and finds those that are broken: documents and scripts that no longer fit the tree.
// Start with [List] and [Checker.Check].
//
// What is in the folder is hostile. No file outside it is read but what a workflow imports, and nothing is run.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workflow/document"
)

// maxFiles bounds how many files of a folder are looked at.
const maxFiles = 1000

// documents are the ends of names of documents, and steps matches what makes a script a workflow.
var (
	documents = []string{".workflow.yaml", ".workflow.yml", ".workflow.json"}
	steps     = regexp.MustCompile(`\bworkflow\s*\.\s*(step|sleep|waitFor|wait_for|ask)\b`)
)

// File is a workflow of a folder. One of Document and Script is set, unless the document cannot be read.
type File struct {
	// Path is absolute, and Name is how messages name it.
	Path, Name string
	Document   *document.Document
	Script     *script.Source
	// Compiled is a document that was checked and is not broken. Nil otherwise.
	Compiled *document.Compiled
	// Tools are the ids of the tools that it calls, sorted; Problems are why it is broken. Both are known once it was checked, Problems of a
	// document's form before.
	Tools    []string
	Problems []document.Problem
	// Unchecked is why the types of a script were not checked. Nil if they were.
	Unchecked error
}

// List returns the workflows of a folder, sorted by name: files whose names end in .workflow.yaml, .workflow.yml or .workflow.json, and scripts
// that use steps or waits. A folder that does not exist has none. At most 1,000 files are looked at. Messages call the folder shown.
func List(dir, shown string) ([]*File, error) {
	root, err := safeopen.Root(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder of workflows: %w", err)
	}
	defer root.Close()
	entries, err := safeopen.ReadDir(root, ".", maxFiles)
	if err != nil {
		return nil, fmt.Errorf("read the folder of workflows: %w", err)
	}
	var all []*File
	for _, e := range entries {
		if f := read(root, dir, shown, e.Name()); f != nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// read reads a file, or returns nil if it is no workflow.
func read(root *os.Root, dir, shown, name string) *File {
	isDocument := slices.ContainsFunc(documents, func(end string) bool { return strings.HasSuffix(strings.ToLower(name), end) })
	lang := sandbox.LanguageOf(name)
	if !isDocument && lang == "" {
		return nil
	}
	out := &File{Path: filepath.Join(dir, name), Name: filepath.Join(shown, name)}
	text, err := content(root, name)
	switch {
	case isDocument && err != nil:
		out.Problems = []document.Problem{{File: out.Name, Message: ident.CleanLine(err.Error())}}
	case isDocument:
		out.found(document.Read(out.Name, text))
	case err != nil || !steps.Match(text):
		return nil
	default:
		out.Script = &script.Source{Name: name, Code: string(text), Language: lang, Dir: dir}
	}
	return out
}

func content(root *os.Root, name string) ([]byte, error) {
	f, err := safeopen.File(root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, document.MaxSize+1))
}

// found keeps a document, or why it is broken.
func (f *File) found(d *document.Document, err error) {
	f.Document = d
	if bad, ok := errors.AsType[*document.Problems](err); ok {
		f.Problems = bad.List
	} else if err != nil {
		f.Problems = []document.Problem{{File: f.Name, Message: ident.CleanLine(err.Error())}}
	}
}

// Checker checks workflows against what a project has.
type Checker struct {
	// Tree has the tools. Nil: no tool is known.
	Tree   *gen.Tree
	Skills *skill.Store
	// Form returns an error if a form does not exist or is broken. Nil: forms are not looked up.
	Form func(name string) error
	// Bundler reads scripts. Nil: this process reads them without limits.
	Bundler *script.Bundler
	// NoTypes leaves out the types of scripts, which take seconds.
	NoTypes bool
	// Reading returns the tree and the skills that scripts import.
	Reading func() (script.Options, error)
}

// Compile compiles a document that is in a folder.
func (c *Checker) Compile(ctx context.Context, d *document.Document, dir string) (*document.Compiled, error) {
	return d.Compile(ctx, &document.Options{
		Tree: c.Tree, Dir: dir, Form: c.Form,
		Skill: func(name string) error {
			k, err := c.Skills.Load(name)
			if err == nil && k.Broken {
				err = fmt.Errorf("the skill %s is broken: %s", k.Name, k.Reason())
			}
			return err
		},
		Read: func(ctx context.Context, src script.Source) error {
			opt, err := c.Reading()
			if err == nil {
				_, err = c.Bundler.Read(ctx, src, opt)
			}
			return err
		},
	})
}

// Check sets the tools and problems of a workflow.
func (c *Checker) Check(ctx context.Context, f *File) error {
	switch {
	case f.Document != nil:
		compiled, err := c.Compile(ctx, f.Document, filepath.Dir(f.Path))
		if err == nil {
			f.Compiled, f.Tools = compiled, compiled.Tools
		} else if f.found(f.Document, err); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	case f.Script == nil: // its problems are known
		return nil
	}
	opt, err := c.Reading()
	if err != nil {
		return err
	}
	found, err := c.Skills.Inspect(ctx, *f.Script, opt, !c.NoTypes)
	if err != nil {
		return err
	}
	f.Tools, f.Unchecked = found.Tools, found.Unchecked
	for _, p := range found.Problems {
		file := p.File
		if file == f.Script.Name {
			file = f.Name
		}
		column := p.Column
		if p.Line > 0 {
			column = max(1, column)
		}
		f.Problems = append(f.Problems, document.Problem{File: file, Line: p.Line, Column: column, Message: ident.CleanLine(p.Text)})
	}
	return nil
}
