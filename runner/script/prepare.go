// Package script makes the job that a guest runs from a script: TypeScript is bundled with the wrappers, skills and files that it
// imports into one ES module; Python is passed on with the files beside it that it imports. Start with [Prepare]. Modules whose
// path the script computes are bundled while it runs, by [Prepared.Import]. The package reads only files below the tree, the
// folder of skills and the script's own folder, whatever the script contains.
package script

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// MaxSize is the largest script, in bytes.
const MaxSize = 1 << 20

// Source is a script as a person or an agent wrote it.
type Source struct {
	Name     string // a file name, shown in errors; of a module in a package, its path below Dir
	Code     string
	Language sandbox.Language
	Dir      string   // absolute folder for relative imports; empty: none
	Args     []string // passed to the script
}

// Options configure [Prepare].
type Options struct {
	Tree   string // absolute folder of the generated tree; empty: none
	Skills string // absolute folder of saved scripts; empty: none
	// Closed are the absolute paths of files and folders beside scripts that no script may import.
	Closed []string
}

// Prepared is a script that can be run.
type Prepared struct {
	*bridge.Job
	// Import answers an import with a computed path: it bundles one more ES module, from the specifier and the id of the
	// importing module. Modules that the guest has are not sent again. Errors of the import are an *Error. Import serves one
	// run, is safe for concurrent use, and treats its arguments as hostile. Nil: the script has no such imports.
	Import func(ctx context.Context, specifier, from string) (id, code string, err error)

	sources sources
}

// Source returns the text of a file of the script or of a skill, by the name that the guest gives to a place in it, as it was when the
// guest got it. Only skills in Python are read again. The name is hostile. Source is safe for concurrent use.
func (p *Prepared) Source(name string) (string, bool) { return p.sources.find(name) }

// Prepare makes the job. Errors in the script are an *Error.
func Prepare(ctx context.Context, src Source, opt Options) (*Prepared, error) {
	return (*Bundler)(nil).Prepare(ctx, src, opt)
}

// Prepare makes the job. A nil Bundler bundles in this process, without limits: a hostile script can then take all memory, or
// end the process.
func (b *Bundler) Prepare(ctx context.Context, src Source, opt Options) (*Prepared, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(src); err != nil {
		return nil, err
	}
	job := &bridge.Job{Language: string(src.Language), Name: src.Name, Code: src.Code, Args: src.Args}
	if job.Args == nil {
		job.Args = []string{}
	}
	if src.Language == sandbox.LangPython {
		p, err := preparePython(job, src, opt.Closed)
		if err == nil {
			p.sources.skills, p.sources.texts = opt.Skills, job.Modules
		}
		return p, err
	}
	made, err := b.make(ctx, task{Src: src, Opt: opt})
	if err != nil {
		return nil, err
	}
	job.Code = made.Code
	prepared := &Prepared{Job: job}
	prepared.sources.add(made.Code)
	if made.Modules != nil {
		im := newImporter(src, opt, b, made.Modules)
		prepared.Import = func(ctx context.Context, specifier, from string) (id, code string, err error) {
			if id, code, err = im.module(ctx, specifier, from); err == nil {
				prepared.sources.add(code)
			}
			return id, code, err
		}
	}
	return prepared, nil
}

// check refuses what no interpreter could read.
func check(src Source) error {
	switch {
	case len(src.Code) > MaxSize:
		return &Error{Problems: []Problem{{File: src.Name, Text: fmt.Sprintf("the script has %d bytes; at most %d are allowed", len(src.Code), MaxSize)}}}
	case !utf8.ValidString(src.Code):
		return &Error{Problems: []Problem{{File: src.Name, Line: lineOf(src.Code, invalidAt(src.Code)), Text: "the script is not UTF-8"}}}
	case strings.ContainsRune(src.Code, 0):
		return &Error{Problems: []Problem{{File: src.Name, Line: lineOf(src.Code, strings.IndexByte(src.Code, 0)), Text: "the script contains a NUL character"}}}
	}
	return nil
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return len(s)
}

func lineOf(s string, offset int) int { return strings.Count(s[:offset], "\n") + 1 }
