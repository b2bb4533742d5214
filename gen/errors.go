package gen

import (
	"fmt"
	"strings"
)

// ConfigError is a configuration that can't be found or read. Exit code 2.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *ConfigError) Unwrap() error { return e.Err }

// ExitCode is 2.
func (e *ConfigError) ExitCode() int { return 2 }

// UnknownServerError is a name that is not in the configuration. Exit code 2.
type UnknownServerError struct {
	Key   string
	Known []string
}

func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("no server %q in the configuration", e.Key)
}

// Hint lists the servers there are.
func (e *UnknownServerError) Hint() string {
	if len(e.Known) == 0 {
		return "the configuration has no servers"
	}
	return "the configuration has " + strings.Join(e.Known, ", ")
}

// ExitCode is 2.
func (e *UnknownServerError) ExitCode() int { return 2 }

// LostError says that a server could not be asked, and that what the tree keeps of it is missing or damaged, so that
// its wrappers could only be removed. Exit code 3.
type LostError struct {
	Server string
	// File is the missing file, below the tree.
	File string
	// Err is why the server could not be asked; nil when it was not to be.
	Err error
}

func (e *LostError) Error() string {
	why := "was not asked"
	if e.Err != nil {
		why = "could not be asked: " + e.Err.Error()
	}
	return fmt.Sprintf("server %q: %s is missing or damaged, and the server %s; nothing was written", e.Server, e.File, why)
}

// Unwrap returns why the server could not be asked.
func (e *LostError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *LostError) Hint() string {
	return "restore the file from version control, or sync while the server can be reached"
}

// ExitCode is 3.
func (e *LostError) ExitCode() int { return 3 }
