package runner

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// FindingsError refuses a script because guardrails are strict and the check of it has found something.
type FindingsError struct {
	Script   string
	Findings []judge.Finding
}

func (e *FindingsError) Error() string {
	return fmt.Sprintf("%s was not run: guardrails are strict, and the check has findings:\n%s", e.Script, lines(e.Findings))
}

// Hint says what to do.
func (e *FindingsError) Hint() string {
	return "change the script, or ask the operator of the project about guardrails.strict in mcpgen.yaml"
}

// ExitCode returns the exit code for a script that was refused before it ran.
func (e *FindingsError) ExitCode() int { return exit.Refused }

// aboutTools are the rules whose findings the policy decides about, call by call.
var aboutTools = map[string]bool{"tool-write": true, "tool-unknown": true, "destructive-tool": true}

// refuseFindings returns a *FindingsError for a script with findings of medium or higher risk, other than those about tools.
func refuseFindings(name string, report *judge.Report) error {
	var found []judge.Finding
	for _, f := range report.Findings {
		if f.Risk >= risk.Medium && !aboutTools[f.Rule] && len(found) < maxFindings {
			found = append(found, f)
		}
	}
	if found == nil {
		return nil
	}
	return &FindingsError{name, found}
}
