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
	Dir      string   // absolute folder that relative imports start from; empty: it has none
	Args     []string // for the script
}

// Options say what a script is prepared for.
type Options struct {
	Runtime sandbox.Runtime
	Tree    string // absolute folder of the generated tree; empty: there is none
	Skills  string // absolute folder of saved scripts; empty: there is none
	// Closed are the absolute paths of files that no script may import, though they lie beside it, and of folders of which it
	// may import nothing.
	Closed []string
}

// Prepared is a script that can be run.
type Prepared struct {
	*bridge.Job
	// Import answers a guest that imports a module whose path only the running script knows: it makes one ES module more,
	// from the specifier and the id of the module that the import stands in. Modules that the guest has are not sent again.
	// A module that cannot be had is an *Error. It is for one run, safe for concurrent use, and believes nothing that the
	// guest says. Nil: the script has no such imports.
	Import func(ctx context.Context, specifier, from string) (id, code string, err error)
}

// Prepare makes the job. Errors in the script are an *Error.
func Prepare(ctx context.Context, src Source, opt Options) (*Prepared, error) {
	return (*Cache)(nil).Prepare(ctx, src, opt)
}

// Prepare makes the job, with the bundle of an earlier one where nothing has changed that went into it. A nil Cache
// keeps nothing.
func (c *Cache) Prepare(ctx context.Context, src Source, opt Options) (*Prepared, error) {
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
		return preparePython(job, src, opt.Closed)
	}
	made, err := c.bundle(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	job.Code = made.code
	prepared := &Prepared{Job: job}
	if made.modules != nil {
		prepared.Import = newImporter(src, opt, made.modules, c.maker()).module
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

// invalidAt is the offset of the first byte that is not UTF-8.
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
