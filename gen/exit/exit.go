// Package exit defines the exit codes of both programs: of an error, of a report, of a run, and of a single call. The log of a command
// records the code with which the command exited.
package exit

import (
	"errors"
	"fmt"
	"os/exec"
)

// Exit codes of mcpgen.
const (
	OutOfDate   = 1 // out of date, not what the lock pins, or something is left to do by hand
	Usage       = 2 // usage, configuration or files
	Unreachable = 3 // a server could not be asked, or used
	Strict      = 4 // with --strict: a tool could not be generated, or a text is suspicious
)

// Exit codes of mcprun other than the script's own. They follow coreutils timeout(1) and the shell.
const (
	Failed      = 1 // the script, or a tool, failed
	Timeout     = 124
	Runner      = 125 // mcprun itself could not do its work
	Refused     = 126 // refused before it ran
	NoBackend   = 127 // no such sandbox, or no interpreter in it
	Interrupted = 130 // of both programs
	Killed      = 137 // by a limit other than the time limit
)

// Coder is an error that has an exit code.
type Coder interface {
	error
	ExitCode() int
}

// Of returns the code of the outermost error that has one, or otherwise. An exec.ExitError, which says how another program ended, has no
// code of ours.
func Of(err error, otherwise int) int {
	c, ok := errors.AsType[Coder](err)
	if _, foreign := c.(*exec.ExitError); !ok || foreign {
		return otherwise
	}
	return c.ExitCode()
}

// Hint returns the hint of the outermost error that has one, which says what to do, or "".
func Hint(err error) string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return h.Hint()
	}
	return ""
}

// Hinted returns an error whose text has the hint too, for those who see nothing else.
func Hinted(err error) error {
	if hint := Hint(err); hint != "" {
		return fmt.Errorf("%w; %s", err, hint)
	}
	return err
}
