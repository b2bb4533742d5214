package syncview

import (
	"io"
	"strings"
)

// Disarm breaks the older form of workflow commands, ##[name]. GitHub's runner executes it anywhere in a line, also on standard
// error; the newer form, ::name::, only at the beginning, where no text of a server stands.
func Disarm(text string) string { return strings.ReplaceAll(text, "##[", `#\x23[`) }

// CommandFilter is a writer that escapes GitHub workflow commands. Each Write must be one or more complete lines.
type CommandFilter struct{ io.Writer }

func (i CommandFilter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(i.Writer, Disarm(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// inertJSON writes one JSON text so that it contains no workflow command, and keeps its value. Two such characters
// stand inside strings only.
type inertJSON struct{ w io.Writer }

func (i inertJSON) Write(b []byte) (int, error) {
	if _, err := io.WriteString(i.w, strings.ReplaceAll(string(b), "##[", `#\u0023[`)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// EscapedError is an error that may quote a server, for a log that is read for commands.
type EscapedError struct{ Err error }

func (e EscapedError) Error() string { return Disarm(e.Err.Error()) }

// Unwrap returns the error as it is, with its exit code and hints.
func (e EscapedError) Unwrap() error { return e.Err }
