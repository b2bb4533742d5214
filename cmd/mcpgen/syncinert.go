package main

import (
	"io"
	"strings"
)

// disarm breaks the older form of workflow commands, ##[name]. GitHub's runner obeys it anywhere in a line, of standard
// error too; the newer form, ::name::, only at the beginning, where no text of a server stands.
func disarm(text string) string { return strings.ReplaceAll(text, "##[", `#\x23[`) }

// inert is a writer of whole lines with what servers say; none of them becomes a workflow command.
type inert struct{ w io.Writer }

func (i inert) Write(b []byte) (int, error) {
	if _, err := io.WriteString(i.w, disarm(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// inertJSON is a writer of one JSON text, which stays what it is, and holds no workflow command. Two such characters
// stand inside strings only.
type inertJSON struct{ w io.Writer }

func (i inertJSON) Write(b []byte) (int, error) {
	if _, err := io.WriteString(i.w, strings.ReplaceAll(string(b), "##[", `#\u0023[`)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// disarmedError is an error that may quote a server, as it is said where a log is read for commands.
type disarmedError struct{ err error }

func (e disarmedError) Error() string { return disarm(e.err.Error()) }

// Unwrap returns the error as it is, with its exit code and hints.
func (e disarmedError) Unwrap() error { return e.err }
