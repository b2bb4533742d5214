package render

import (
	"bytes"
	"fmt"
	"text/template"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/tree"
)

// Language is one target language: what the rest of mcpgen needs to know about it, and the printer of its files.
type Language struct {
	// Name identifies the language in configurations, in the lock and in results: "typescript". Short is another name that people may use:
	// "ts". Title is for messages: "TypeScript".
	Name, Short, Title string
	// Ext is the extension of a wrapper's file, and IndexFile the file in a server's folder that exports all of its wrappers.
	Ext, IndexFile string
	// Comment begins a comment that extends to the end of its line.
	Comment string
	// Client is the file at the root of the tree that declares the errors of calls. Library is the file that declares the library of
	// scripts.
	Client, Library string
	// Import returns the statement with which a script beside the tree imports a function from a server's folder.
	Import func(dir, function string) string
	// Exports reports whether a line of an index exports the function.
	Exports func(line, function string) bool
	// Signature returns the head of a function in a wrapper, from the line that declares it to the end of its types, or "" if there is no
	// such function.
	Signature func(source, function string) string
	// Brief returns the head of a function with the types that it needs, without comments, which is enough for a call that needs no
	// explanation. It returns "" if there is no such function.
	Brief func(source, function string) string
	// Example returns a call of a function as a block of Markdown. args reports whether the function takes arguments.
	Example func(dir, function string, args bool) string
	// CheckTypeName returns why a type cannot have a name, as a clause, or "" if it can.
	CheckTypeName func(name string) string
	Printer
}

// Printer writes the files of one language.
type Printer interface {
	// Types returns a self-contained module that exports the type of s under exactly that name, and the definitions to which it refers
	// under other names. Every value of s, written as a literal, fits the type. It returns an error if CheckTypeName rejects the name.
	Types(name string, s ir.Schema) ([]byte, error)
	// Root returns the files at the root of the tree that belong only to this language.
	Root(servers []Server) tree.Tree
	// Functions returns the name of each tool's function, which is also the name of its file without the extension. The names are distinct,
	// and do not depend on the order of tools.
	Functions(tools []Tool) []string
	// Wrapper returns a tool's file.
	Wrapper(t Tool, function string) (Wrapper, error)
	// Index returns the index of a server's folder. wrappers are in the order of the server's tools.
	Index(s Server, wrappers []Wrapper) ([]byte, error)
	// Resources returns a server's module "resources", and Prompts its module "prompts".
	Resources(s Server) ([]byte, error)
	Prompts(s Server) ([]byte, error)
}

// Wrapper is one tool's file.
type Wrapper struct {
	Source []byte
	// Parts is what the language's index needs from the wrapper.
	Parts any
}

// Names are the names of a tool in one language.
type Names struct {
	File     string `json:"file"`     // path below the tree
	Function string `json:"function"` // the exported name
}

// Fill executes a template.
func Fill(t *template.Template, name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("fill template %s: %w", name, err)
	}
	return b.Bytes(), nil
}
