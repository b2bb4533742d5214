package script

import (
	"context"
	"maps"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// Program is a script that was read: the job that its guest runs, and what is known about it before it runs.
type Program struct {
	*bridge.Job // nil if it cannot run
	// Import answers an import with a computed path: it bundles another ES module, found by the specifier and the id of the importing
	// module. Modules that the guest already has are not sent again. Errors in the import are an *Error. Import serves one run, is safe for
	// concurrent use, and treats its arguments as hostile. It is nil if the script has no such imports.
	Import func(ctx context.Context, specifier, from string) (id, code string, err error)
	// Facts describes what a TypeScript script does, together with the files beside it and the skills that it imports. It is nil for
	// Python, which only Python can parse.
	Facts *judge.Facts
	// Uses lists the tools and skills that the script and the files beside it refer to.
	Uses *Used
	// Files lists the names of a Python script, the files beside it and the skills that it imports, the script first. Texts holds their
	// contents.
	Files []string
	Texts map[string]string
	// Digest is the SHA-256, in hexadecimal, of the script and of all files beside it and skills that it imports, with their names. It does
	// not cover imports by a computed path.
	Digest string

	src     Source
	opt     Options
	imports map[string][]pyimport.Import // imports of a Python script and of the files beside it
	sources sources
}

// Source returns the text of a file of the script or of a skill as the guest got it, except that Python skills are read again. name is the
// file's name in a position that the guest reports, and is hostile. Source is safe for concurrent use.
func (p *Program) Source(name string) (string, bool) { return p.sources.find(name) }

// Imported returns the texts of the files beside the script, and of the skills, that it has imported so far, by the names that [Program.Source]
// uses. It is safe for concurrent use.
func (p *Program) Imported() map[string]string {
	out := maps.Clone(p.Texts)
	if out == nil {
		out = p.sources.all()
	}
	delete(out, p.src.Name)
	return out
}

// ImportsModule reports whether a Python script, a file beside it or a skill that it imports by name has an import of a module for which wanted
// is true. wanted gets the first part of the module's name.
func (p *Program) ImportsModule(wanted func(module string) bool) bool {
	for file, text := range p.Texts {
		imports, ok := p.imports[file]
		if !ok { // a skill
			imports = pyimport.Scan(text)
		}
		for _, im := range imports {
			if im.Level == 0 && len(im.Module) > 0 && wanted(im.Module[0]) {
				return true
			}
		}
	}
	return false
}
