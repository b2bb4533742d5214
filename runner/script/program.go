package script

import (
	"context"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// Program is a script that was read: what its guest runs, and what is known of it before.
type Program struct {
	*bridge.Job // nil: it cannot run
	// Import answers an import with a computed path: it bundles one more ES module, from the specifier and the id of the
	// importing module. Modules that the guest has are not sent again. Errors of the import are an *Error. Import serves one
	// run, is safe for concurrent use, and treats its arguments as hostile. Nil: the script has no such imports.
	Import func(ctx context.Context, specifier, from string) (id, code string, err error)
	// Facts is what a TypeScript script does, and the files beside it and skills that it imports. Nil for Python, which only Python parses.
	Facts *judge.Facts
	// Uses is what the script and the files beside it refer to: tools and skills.
	Uses *Used
	// Files are the names of a Python script and of the files beside it and skills that it imports, the script first, and Texts what is
	// in them.
	Files []string
	Texts map[string]string
	// Digest is the SHA-256, in hexadecimal, of the script and of all files beside it and skills that it imports, with their names.
	// Imports by a computed path are not known.
	Digest string

	src     Source
	opt     Options
	imports map[string][]pyimport.Import // of Python, of the script and the files beside it
	sources sources
}

// Source returns the text of a file of the script or of a skill, by the name that the guest gives to a place in it, as it was when the
// guest got it. Only skills in Python are read again. The name is hostile. Source is safe for concurrent use.
func (p *Program) Source(name string) (string, bool) { return p.sources.find(name) }
