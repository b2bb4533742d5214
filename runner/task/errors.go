package task

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TextError reports a task that is empty or too long.
type TextError struct{ Bytes int }

func (e *TextError) Error() string {
	if e.Bytes == 0 {
		return "the task is empty"
	}
	return fmt.Sprintf("the task has %d bytes; at most %d are allowed", e.Bytes, MaxText)
}

// Hint says what to write.
func (e *TextError) Hint() string {
	return `say in a few words what is to be done, such as "Copy the open orders of the sheet rollout-plan to the CRM"`
}

// ExitCode is exit.Runner.
func (e *TextError) ExitCode() int { return exit.Runner }

// LanguageError reports a tree without wrappers in the language of the script.
type LanguageError struct {
	Language sandbox.Language
	Have     []sandbox.Language
}

func (e *LanguageError) Error() string {
	return fmt.Sprintf("the tree has no wrappers in %s; it has %v", e.Language, e.Have)
}

// Hint says what to do.
func (e *LanguageError) Hint() string {
	return "name another language with --language, or add it to languages: in mcpgen.yaml and run mcpgen sync"
}

// ExitCode is exit.Runner.
func (e *LanguageError) ExitCode() int { return exit.Runner }

// NothingError reports a task for which no tool was found.
type NothingError struct{ Selection *Selection }

func (e *NothingError) Error() string {
	return fmt.Sprintf("no tool fits the task: %s", e.Selection)
}

// Hint says what to do.
func (e *NothingError) Hint() string {
	return "use words of the tools; mcpgen search shows what there is, and mcpgen sync adds the tools of new servers"
}

// ErrNoModel is the error of a task without a model. The outcome has a scaffold.
var ErrNoModel error = noModelError{}

type noModelError struct{}

func (noModelError) Error() string {
	return "no model is configured, so the script is a scaffold: imports, signatures and one example call of each tool"
}

func (noModelError) Hint() string {
	return "complete the scaffold, and run it with mcprun"
}

// ExitCode is exit.Runner.
func (noModelError) ExitCode() int { return exit.Runner }

// RefusedError reports that the model does not do the task.
type RefusedError struct {
	Reason string // of the model, which may be empty

	lacks bool // it says that the functions are not enough
}

func (e *RefusedError) Error() string {
	if e.Reason == "" {
		return "the model refused the task"
	}
	return "the model does not do the task: " + e.Reason
}

// Hint says what to do.
func (e *RefusedError) Hint() string {
	return "say what is to be done in other words; --plan shows which tools it could choose from"
}

// ScriptError reports that no answer of the model was a script that could run.
type ScriptError struct{ Problem string } // of the last answer

func (e *ScriptError) Error() string {
	return "the model wrote no script that could run: " + e.Problem
}

// Hint says what to do.
func (e *ScriptError) Hint() string {
	return "a higher --repairs lets it try more often, and --save keeps its last script for you to correct"
}

// ExitCode is that of a script which fails to load.
func (e *ScriptError) ExitCode() int { return exit.Failed }
