// Package exit has the exit codes of mcprun: those of a run, of an error, and of a single call. A log of what a command did holds the
// same code as the command gave.
package exit

import (
	"errors"
	"os/exec"
)

// Exit codes that are not the script's own; those of coreutils timeout(1) and of the shell.
const (
	Failed      = 1 // the script, or a tool, failed
	Timeout     = 124
	Runner      = 125 // mcprun itself could not do its work
	Refused     = 126 // refused before it ran
	NoBackend   = 127 // no such sandbox, or no interpreter in it
	Interrupted = 130
	Killed      = 137 // by a limit other than its time
)

// Coder is an error that has an exit code.
type Coder interface {
	error
	ExitCode() int
}

// Of returns the code of the outermost error that has one, else otherwise. How another program ended that was run (exec.ExitError) is no
// code of ours.
func Of(err error, otherwise int) int {
	c, ok := errors.AsType[Coder](err)
	if _, foreign := c.(*exec.ExitError); !ok || foreign {
		return otherwise
	}
	return c.ExitCode()
}
