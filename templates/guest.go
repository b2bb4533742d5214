package templates

import "embed"

//go:embed guest/guest.mjs guest/guest.py
var guestFiles embed.FS

// NodeGuest returns the guest program for Node.js 20 and newer: file names, without folders, and contents.
func NodeGuest() map[string][]byte { return guest("guest.mjs") }

// PythonGuest returns the guest program for CPython 3.11 and newer.
func PythonGuest() map[string][]byte { return guest("guest.py") }

func guest(name string) map[string][]byte {
	content, err := guestFiles.ReadFile("guest/" + name)
	if err != nil {
		panic(err) // embedded, so it is there
	}
	return map[string][]byte{name: content}
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
