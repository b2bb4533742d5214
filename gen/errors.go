package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// ConfigError reports a configuration that cannot be found or read. Exit code 2.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *ConfigError) Unwrap() error { return e.Err }

// ExitCode is exit.Usage.
func (e *ConfigError) ExitCode() int { return exit.Usage }

// UnknownServerError reports a name that is not in the configuration. Exit code 2.
type UnknownServerError struct {
	Key   string
	Known []string
}

func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("no server %q in the configuration", e.Key)
}

// Hint names the server that may have been meant, or else lists all.
func (e *UnknownServerError) Hint() string {
	if len(e.Known) == 0 {
		return "the configuration has no servers"
	}
	if near := ident.Nearest(e.Key, e.Known, 3); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "the configuration has " + strings.Join(e.Known, ", ")
}

// ExitCode is exit.Usage.
func (e *UnknownServerError) ExitCode() int { return exit.Usage }

// Error says why a sync or [Learn] did nothing.
type Error struct {
	// Message is empty if Err says everything.
	Message string
	// Remedy says what to do about it.
	Remedy string
	// Code is the exit code: 2 for usage, configuration or files, 3 if a server could not be asked.
	Code int
	// Err is the cause, or nil.
	Err error
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns Remedy.
func (e *Error) Hint() string { return e.Remedy }

// ExitCode returns Code.
func (e *Error) ExitCode() int { return e.Code }

// unasked describes why a server was not asked.
func unasked(err error) string {
	if err != nil {
		return "could not be asked: " + err.Error()
	}
	return "was not asked"
}

// PruneError reports that a sync would remove all wrappers of some servers. Exit code 2.
type PruneError struct {
	// Servers are the names of the servers that are no longer configured. Emptied are the names of the servers of which include and exclude
	// leave no tool. Both are sorted.
	Servers, Emptied []string
	// Config is the configuration, and Out the folder of the tree.
	Config, Out string
}

func (e *PruneError) Error() string {
	return fmt.Sprintf("%s, whose wrappers are in %s; nothing was written", e.reasons("does not configure"), e.Out)
}

// Question returns the question whether to remove the wrappers, for a person.
func (e *PruneError) Question() string {
	their := "their"
	if len(e.Servers)+len(e.Emptied) == 1 {
		their = "its"
	}
	return fmt.Sprintf("%s. Remove %s wrappers from %s?", e.reasons("no longer configures"), their, e.Out)
}

// reasons names the servers whose wrappers would be removed, and says why.
func (e *PruneError) reasons(verb string) string {
	var list []string
	if len(e.Servers) > 0 {
		list = append(list, fmt.Sprintf("%s %s %s", e.Config, verb, nameServers(e.Servers)))
	}
	if len(e.Emptied) > 0 {
		list = append(list, "include and exclude leave no tool of "+nameServers(e.Emptied))
	}
	return strings.Join(list, ", and ")
}

func nameServers(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more servers", more))
	}
	return strings.Join(names, ", ")
}

// Hint suggests a remedy.
func (e *PruneError) Hint() string {
	hint := "to remove these wrappers, run \"mcpgen sync --prune\""
	if len(e.Servers) > 0 {
		hint += "; if another file configures them, name it with --config, MCPGEN_CONFIG, or config: in mcpgen.yaml"
	}
	if len(e.Emptied) > 0 {
		hint += "; if the tools are to stay, correct include and exclude in mcpgen.yaml"
	}
	return hint
}

// ExitCode is exit.Usage.
func (e *PruneError) ExitCode() int { return exit.Usage }
