// Package templates holds the files that are copied as they are: into generated trees, such as client.ts; the guest
// programs that run inside sandboxes; and the library that scripts import as mcprun.
package templates

import (
	"embed"
	"fmt"
)

//go:embed ts py guest/mcprun.ts guest/mcprun.py
var files embed.FS

// Text returns the file of that name below this folder, for example "ts/client.ts". It panics if the file does not exist,
// which only a mistake in this program can cause.
func Text(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("templates: %v", err))
	}
	return string(text)
}

// Library returns the source of the module that TypeScript scripts import as "mcprun". It imports the client of the
// tree as "./servers/client.ts", so that each error has only one class, however a script imports it. Without a tree, that
// module is Text("ts/client.ts").
func Library() string { return Text("guest/mcprun.ts") }

// PythonLibrary returns the source of the module that Python scripts import as mcprun. Where there is no tree, it takes
// the error classes from a module _mcprun_client, which is Text("py/client.py").
func PythonLibrary() string { return Text("guest/mcprun.py") }
