package templates

import (
	"embed"
	"io/fs"
	"strings"
)

// The guest programs, all files of a kind: those of Python that belong to the guest alone begin with _mcprun.
//
//go:embed guest/*.mjs guest/guest.py guest/_mcprun_*.py
var guestFiles embed.FS

// NodeGuest returns the guest program for Node.js 20 and newer: file names, without folders, and contents.
func NodeGuest() map[string][]byte { return guest("guest/*.mjs") }

// PythonGuest returns the guest program for CPython 3.11 and newer, with the library that scripts import as mcprun.
func PythonGuest() map[string][]byte {
	all := guest("guest/*.py")
	all["mcprun.py"] = []byte(PythonLibrary())
	all["_mcprun_client.py"] = []byte(Text("py/client.py"))
	return all
}

// Values returns the source of an ES module that creates the values of calls that are more than plain JSON. All TypeScript
// guests use it. It imports nothing and has one export, the function values.
func Values() string { return string(readGuest("guest/values.mjs")) }

func guest(pattern string) map[string][]byte {
	names, err := fs.Glob(guestFiles, pattern)
	if err != nil {
		panic(err) // the pattern is one of ours
	}
	all := make(map[string][]byte, len(names))
	for _, name := range names {
		all[name[len("guest/"):]] = readGuest(name)
	}
	return all
}

func readGuest(name string) []byte {
	content, err := guestFiles.ReadFile(name)
	if err != nil {
		panic(err) // embedded, so it is there
	}
	return content
}

// NodeArgs returns the arguments for node that come before the guest's path. Positions in stack traces are mapped by the
// guest itself.
func NodeArgs() []string {
	return []string{"--no-warnings"}
}

// PythonArgs returns the arguments for python3 that come before the guest's path: no PYTHON* variables, no user
// packages, neither the guest's nor the working folder on the module path (-I), no bytecode written (-B), and UTF-8
// whatever the locale. Output is flushed by line by the guest; -u would make a write of every piece.
func PythonArgs() []string {
	return []string{"-I", "-B", "-X", "utf8"}
}

// Guest returns the guest program for a runtime, "node" or "python"; nil for one that has its guest built in.
func Guest(runtime string) map[string][]byte {
	switch runtime {
	case "node":
		return NodeGuest()
	case "python":
		return PythonGuest()
	}
	return nil
}

// RuntimeArgs returns the arguments for a runtime's program that come before the guest's path.
func RuntimeArgs(runtime string) []string {
	switch runtime {
	case "node":
		return NodeArgs()
	case "python":
		return PythonArgs()
	}
	return nil
}

//go:embed guest/restrict.js
var restrict string

// Restrict returns JavaScript, without a line break, that removes the ways to run text as code from the script that follows it
// on the same line.
func Restrict() string { return strings.ReplaceAll(restrict, "\n", "") }
