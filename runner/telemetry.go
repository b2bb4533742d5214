package runner

import (
	"errors"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/telemetry"
)

// outcomeOf returns what a trace is told about a run: nothing that the script, its author or a server has written.
func outcomeOf(s *Script, res *Result, err error) telemetry.RunOutcome {
	out := telemetry.RunOutcome{Language: string(s.Language), Risk: s.Risk.Overall().String()}
	_, unreadable := errors.AsType[*script.Error](err)
	switch {
	case res != nil:
		out.Sandbox, out.Calls = res.Sandbox, res.CallCount
		if res.Cache != nil {
			out.Cached = res.Cache.Hits
		}
		if out.Error = string(res.Cause); res.Succeeded() {
			out.Error = ""
		}
	case unreadable:
		out.Error = "script"
	case exit.Of(err, exit.Runner) == exit.Refused:
		out.Error = "refused"
	case notUsable(err):
		out.Error = "sandbox"
	default:
		out.Error = string(CauseFailed)
	}
	return out
}
