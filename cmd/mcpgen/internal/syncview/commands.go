package syncview

import (
	"io"
	"strings"
)

// Disarm breaks workflow commands of the older form, ##[name], which GitHub's runner executes anywhere in a line, also on
// standard error. It executes the newer form, ::name::, only at the beginning of a line, where a server's text never is.
func Disarm(text string) string { return strings.ReplaceAll(text, "##[", `#\x23[`) }

// CommandFilter is a writer that escapes GitHub workflow commands. Each Write must be one or more complete lines.
type CommandFilter struct{ io.Writer }

func (i CommandFilter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(i.Writer, Disarm(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// inertJSON writes one JSON text so that it contains no workflow command but has the same value. The characters ## occur only
// inside strings.
type inertJSON struct{ w io.Writer }

func (i inertJSON) Write(b []byte) (int, error) {
	if _, err := io.WriteString(i.w, strings.ReplaceAll(string(b), "##[", `#\u0023[`)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// EscapedError is an error that may quote a server, for a log in which GitHub looks for commands.
type EscapedError struct{ Err error }

func (e EscapedError) Error() string { return Disarm(e.Err.Error()) }

// Unwrap returns the error as it is, with its exit code and hints.
func (e EscapedError) Unwrap() error { return e.Err }
