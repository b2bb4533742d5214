package runner

import (
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// Logged is what a session's log keeps of a run: no arguments and no answers of calls. Secrets and personal data in it are
// taken out when it is appended.
func (r *Result) Logged(s *Script) *workspace.Run {
	run := &workspace.Run{
		Name: s.Name, Language: string(s.Language), Code: s.Code, Sandbox: r.Sandbox, ExitCode: r.ExitCode, Cause: string(r.Cause), Message: r.Message,
		DurationMS: r.DurationMS, Result: r.Value, Output: r.Stdout, CallCount: r.CallCount, Files: r.Files, Tokens: r.Tokens.logged(),
	}
	if r.Error != nil {
		run.Message = r.Error.Name + ": " + r.Error.Message
	}
	for _, c := range r.Calls {
		run.Calls = append(run.Calls, workspace.Call{Tool: c.Tool, MS: c.DurationMS, Outcome: c.Outcome})
	}
	return run
}

// LoggedFailure is what a session's log keeps of a run that could not be made.
func LoggedFailure(s *Script, err error) *workspace.Run {
	return &workspace.Run{
		Name: s.Name, Language: string(s.Language), Code: s.Code, ExitCode: ExitRunner, Cause: string(CauseFailed), Message: err.Error(),
	}
}

// LoggedLoss is what a session's log keeps of a run whose host died while it was under way.
func LoggedLoss(s *Script) *workspace.Run {
	return &workspace.Run{
		Name: s.Name, Language: string(s.Language), Code: s.Code, ExitCode: ExitRunner, Cause: "lost", Message: "mcprun, or the machine, ended before the script did",
	}
}

func (t *Tokens) logged() *workspace.Tokens {
	if t == nil {
		return nil
	}
	return &workspace.Tokens{
		Used: int64(t.Used), Script: int64(t.Script), Wrappers: int64(t.Wrappers), Output: int64(t.Output),
		Direct: int64(t.Direct), Definitions: int64(t.Definitions), Arguments: int64(t.Arguments), Results: int64(t.Results), Saved: int64(t.Saved),
	}
}
