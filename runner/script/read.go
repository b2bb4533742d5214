// Package script turns a script into the job that a guest runs: TypeScript is bundled with the wrappers, skills and files that it imports
// into one ES module; Python is passed on with the files beside it that it imports. Start with [Read]. Modules whose path the script
// computes are bundled while it runs, by [Program.Import]. The package reads only files below the tree, the folder of skills and the
// script's own folder, whatever the script contains.
package script

import (
	"context"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Read is like [Bundler.Read], but works in this process without limits. A hostile script can use up all memory or end the process.
func Read(ctx context.Context, src Source, opt Options) (*Program, error) {
	return (*Bundler)(nil).Read(ctx, src, opt)
}

// Read reads a script and its imports once, so the facts about the program hold for the code that runs. Errors in the script are an *Error.
// If the script was read but cannot run, for example because an import does not exist, Read returns both an *Error and a Program with only
// Facts, Uses and Digest.
func (b *Bundler) Read(ctx context.Context, src Source, opt Options) (*Program, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(src); err != nil {
		return nil, err
	}
	p := &Program{src: src, opt: opt}
	job := &bridge.Job{Language: string(src.Language), Name: src.Name, Code: src.Code, Args: src.Args}
	if job.Args == nil {
		job.Args = []string{}
	}
	if src.Language == sandbox.LangPython {
		if err := p.readPython(job); err != nil {
			return nil, err
		}
		return p, nil
	}
	made, err := b.make(ctx, task{Src: src, Opt: opt})
	if made == nil {
		return nil, err
	}
	p.Facts, p.Uses, p.Digest = made.Facts, made.Uses, made.Digest
	if err != nil {
		return p, err
	}
	job.Code = made.Code
	p.Job = job
	p.sources.add(made.Code)
	if made.Modules != nil {
		im := newImporter(src, opt, b, made.Modules)
		p.Import = func(ctx context.Context, specifier, from string) (id, code string, err error) {
			if id, code, err = im.module(ctx, specifier, from); err == nil {
				p.sources.add(code)
			}
			return id, code, err
		}
	}
	return p, nil
}
