package script

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// MaxSize is the largest script, in bytes.
const MaxSize = 1 << 20

// Source is a script as a person or an agent wrote it.
type Source struct {
	Name     string // a file name, shown in errors; for a module in a package, its path below Dir
	Code     string
	Language sandbox.Language
	Dir      string   // absolute folder for relative imports, or empty
	Args     []string // passed to the script
}

// Options configure [Read].
type Options struct {
	Tree   string // absolute folder of the generated tree, or empty
	Skills string // absolute folder of saved scripts, or empty
	// Packages is the absolute path of a folder with node_modules, whose packages TypeScript scripts may import, or empty. What is in it does
	// not change.
	Packages string
	// Installed says which packages there are, for the error of an import of another; a part of a sentence, such as "installed: zod". Empty:
	// none.
	Installed string
	// Closed lists the absolute paths of files and folders beside scripts that scripts must not
	// import.
	Closed []string
}

// check refuses a source that no interpreter could read.
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
