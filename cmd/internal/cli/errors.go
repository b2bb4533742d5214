package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/gen/exit"
)

// An error anywhere in a chain may have either method. Hint is one or two sentences that say what to do about it;
// ExitCode is the process's exit code. The outermost code wins; all hints are printed.
type hinter interface{ Hint() string }

// UsageError is a command line that makes no sense. Its exit code is [App.FailCode].
type UsageError struct {
	Err error
	// Command is the command as typed, for the hint. May be empty.
	Command string
	// Near are flags or commands that may have been meant, for the hint. May be empty.
	Near []string
}

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *UsageError) Unwrap() error { return e.Err }

// Hint names what may have been meant, and points to the command's help.
func (e *UsageError) Hint() string {
	help := fmt.Sprintf("run %q", e.Command+" --help")
	switch {
	case len(e.Near) == 0 && e.Command == "":
		return ""
	case len(e.Near) == 0:
		return help
	case e.Command == "":
		return DidYouMean(e.Near)
	}
	return DidYouMean(e.Near) + " Otherwise " + help
}

// WithHint returns err with a hint that says what to do about it.
func WithHint(err error, hint string) error { return &errorWithHint{err, hint} }

type errorWithHint struct {
	error
	hint string
}

func (e *errorWithHint) Unwrap() error { return e.error }

func (e *errorWithHint) Hint() string { return e.hint }

// Usage makes a *UsageError for cmd.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...), Command: cmd.CommandPath()}
}

// Args turns the errors of cobra's argument checks into usage errors, which name an argument that is missing as [cobra.Command].Use does.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			usage := &UsageError{Err: err, Command: cmd.CommandPath()}
			if _, wanted, _ := strings.Cut(cmd.Use, " "); len(args) < len(strings.Fields(wanted)) && !strings.HasPrefix(strings.Fields(wanted)[len(args)], "[") {
				usage.Err = fmt.Errorf("give %s: %s %s", strings.Fields(wanted)[len(args)], cmd.CommandPath(), wanted)
			}
			if cmd.HasSubCommands() && len(args) > 0 {
				usage.Near = NearCommands(cmd, args[0])
			}
			return usage
		}
		return nil
	}
}

// Quiet ends the program with a code and prints nothing: the command has said all there is to say.
type Quiet int

func (q Quiet) Error() string { return fmt.Sprintf("exit code %d", int(q)) }

// ExitCode is the code itself.
func (q Quiet) ExitCode() int { return int(q) }

// Fail prints an error with its hints and returns the exit code. It is the only place where errors become output.
func (a *App) Fail(err error) int {
	fallback := a.FailCode
	if fallback == 0 {
		fallback = 2
	}
	code := ExitCode(err, fallback)
	if _, quiet := errors.AsType[Quiet](err); quiet {
		return code
	}
	style := a.ErrStyle()
	text := strings.TrimRight(Escape(quotePaths(err)), "\n")
	_, _ = fmt.Fprintf(a.Stderr, "%s %s\n", style.Red(a.Name+":"), strings.ReplaceAll(text, "\n", "\n  "))
	for _, hint := range Hints(err) {
		_, _ = fmt.Fprintf(a.Stderr, "%s %s\n", style.Bold("hint:"), strings.ReplaceAll(Escape(hint), "\n", "\n  "))
	}
	return code
}

// quotePaths returns the text of an error with the paths of files that could not be opened, read or written escaped onto one
// line, because whoever created such a file chose its name.
func quotePaths(err error) string {
	text := err.Error()
	var walk func(error)
	walk = func(err error) {
		var paths []string
		switch e := err.(type) {
		case *fs.PathError:
			paths = []string{e.Path}
		case *os.LinkError:
			paths = []string{e.Old, e.New}
		}
		for _, path := range paths {
			if clean := EscapeLine(path); clean != path {
				text = strings.ReplaceAll(text, path, clean)
			}
		}
		for _, inner := range unwrapped(err) {
			walk(inner)
		}
	}
	walk(err)
	return text
}

// unwrapped returns the errors that err wraps directly.
func unwrapped(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return []error{inner}
		}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// ExitCode returns the code of the outermost error that has one, else fallback; see package exit.
func ExitCode(err error, fallback int) int { return exit.Of(err, fallback) }

// ErrorLine returns an error and its hints as one line.
func ErrorLine(err error) string {
	return EscapeLine(strings.Join(append([]string{err.Error()}, Hints(err)...), "; "))
}

// Hints returns the distinct hints of an error and all that it wraps, outermost first. A file system error has a hint even if
// none of our own errors has one.
func Hints(err error) []string {
	var hints []string
	seen := map[string]bool{"": true}
	var walk func(error)
	walk = func(err error) {
		if h, ok := err.(hinter); ok && !seen[h.Hint()] {
			seen[h.Hint()] = true
			hints = append(hints, h.Hint())
		}
		for _, inner := range unwrapped(err) {
			walk(inner)
		}
	}
	walk(err)
	if hint := causeHint(err); len(hints) == 0 && hint != "" {
		hints = append(hints, hint)
	}
	return hints
}
