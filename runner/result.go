package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// Cause is why a run ended.
type Cause string

const (
	CauseExit        Cause = "exit"        // the script ended by itself, with whatever exit code
	CauseError       Cause = "error"       // the script ended by an uncaught error
	CauseTimeout     Cause = "timeout"     // it took longer than allowed
	CauseMemory      Cause = "memory"      // it used more memory than allowed
	CauseCPU         Cause = "cpu"         // it used more processor time than allowed
	CauseProcesses   Cause = "processes"   // it started more processes than allowed
	CauseOutput      Cause = "output"      // it printed more than allowed
	CauseDisk        Cause = "disk"        // it wrote more into its workspace than allowed
	CauseFileSize    Cause = "file size"   // it wrote a larger file than allowed
	CauseInterrupted Cause = "interrupted" // its caller ended it
	CauseDenied      Cause = "denied"      // it has ended, and a plugin withholds its result
	CauseSuspended   Cause = "suspended"   // it only waits, and goes on in another run; see chain.Settings.Suspend
	CauseBridge      Cause = "bridge"      // its bridge broke the protocol, or its sandbox failed
	CauseFailed      Cause = "failed"      // the run could not start: configuration, tree, sandbox
)

// Result is the result of a run.
type Result struct {
	ExitCode int    `json:"exitCode"`
	Cause    Cause  `json:"cause"`
	Message  string `json:"message,omitempty"` // explains the cause, and limits that the run reached
	// LimitsHit lists, sorted, the limits that the run reached, whether or not they ended it: "timeout", and the Limit
	// constants of package sandbox. Never nil.
	LimitsHit []string `json:"limitsHit"`
	// Risk is what the script might do, and RiskReason why it is that high.
	Risk       risk.Risk `json:"risk,omitzero"`
	RiskReason string    `json:"riskReason,omitempty"`
	// Start is the rule's decision whether the script starts, or nil if no rule forbade it or asked.
	Start   *policy.Decision `json:"start,omitempty"`
	Sandbox string           `json:"sandbox"`
	Runtime string           `json:"runtime"`
	// DurationMS is the time of the whole run, StartMS the part until the sandbox was ready for the script.
	DurationMS float64 `json:"durationMs"`
	StartMS    float64 `json:"startMs"`
	// MaxMemoryBytes is the peak memory use, or zero if the sandbox does not measure it.
	MaxMemoryBytes int64 `json:"maxMemoryBytes"`
	// Stdout and Stderr are filled only when Script.Capture is set.
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// StdoutCut and StderrCut count the bytes of output beyond the capture limit and Script.MaxOutput, which are not in
	// Stdout and Stderr.
	StdoutCut int64 `json:"stdoutCutBytes,omitempty"`
	StderrCut int64 `json:"stderrCutBytes,omitempty"`
	// Value is the result of the script; absent when it has none.
	Value json.RawMessage `json:"result,omitempty"`
	// Error is the uncaught error, absent if there is none. With Script.MaxOutput, each of its texts has at most about 4,000 bytes.
	Error *bridge.ScriptError `json:"error,omitempty"`
	// Calls lists the calls in the order in which the script made them, at most 10,000; CallCount counts all.
	Calls     []chain.CallRecord `json:"calls"`
	CallCount int                `json:"callCount"`
	// Plugins are what plugins did about the script, other than to allow it.
	Plugins []audit.Plugin `json:"plugins,omitempty"`
	// Steps are those that ended, at most 10,000. Waits are what a suspended script waits for.
	Steps []chain.StepRecord `json:"steps,omitempty"`
	Waits []journal.Step     `json:"-"`
	// Connections are the connections and requests of a run with a network, at most 1,000; ConnectionCount counts all.
	Connections     []egress.Event `json:"network,omitempty"`
	ConnectionCount int            `json:"networkCount,omitempty"`
	// Reached are the hosts of allowed connections, also if these are not listed; at most 100.
	Reached []string `json:"-"`
	// Warnings has at most 100 warnings about calls that were still made. They may contain text from servers.
	Warnings []string `json:"warnings,omitempty"`
	// TypeErrors has at most five lines from a type checker, if the run went wrong; see Script.Checkers.
	TypeErrors []string `json:"typeErrors,omitempty"`
	// Files lists the files that the script wrote in the workspace. If other runs used it at the same time, only files that the guest
	// itself reports are listed, which leaves out files written by programs that the script started.
	Files  []string `json:"files"`
	Tokens *Tokens  `json:"tokens,omitempty"`
	// Cache counts the calls that the cache has or could have answered. Nil: none.
	Cache *cache.Use `json:"cache,omitempty"`

	changed []string                              // the files of the workspace that changed during the run
	mask    func(json.RawMessage) json.RawMessage // as in CallRecord.Masked; nil: nothing was masked
}

// Succeeded reports whether the script has ended well, or goes on in another run. A nil Result has not succeeded.
func (r *Result) Succeeded() bool {
	return r != nil && r.ExitCode == 0 && (r.Cause == CauseExit || r.Cause == CauseSuspended)
}

// Effects says what the run has done that stays, and that another run would do again, as in "written a.txt, b.txt": the calls that may have changed something (see
// [chain.CallRecord.Changing]), the files that it wrote, and the hosts that it reached. Empty: nothing.
func (r *Result) Effects() []string {
	var tools, out []string
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Changing() && !slices.Contains(tools, c.Tool) {
			tools = append(tools, c.Tool)
		}
	}
	if more := r.CallCount - len(r.Calls); more > 0 {
		tools = append(tools, fmt.Sprintf("%d more that were not recorded", more))
	}
	for _, did := range []struct {
		verb string
		what []string
	}{{"called ", tools}, {"written ", r.Files}, {"connected to ", r.Reached}} {
		if more := len(did.what) - maxNamed; more > 0 {
			did.what = append(slices.Clone(did.what[:maxNamed]), fmt.Sprintf("%d more", more))
		}
		if len(did.what) > 0 {
			out = append(out, did.verb+strings.Join(did.what, ", "))
		}
	}
	return out
}

// Logged returns the entry of the run for a session's log. It has no results of calls, and only the arguments of calls that a rule decided.
// Secrets and personal data are removed when the entry is appended.
func (r *Result) Logged(s *Script) *customer.Run {
	run := &customer.Run{
		Name: s.Name, Language: string(s.Language), Code: s.Code, Sandbox: r.Sandbox, ExitCode: r.ExitCode, Cause: string(r.Cause), Message: r.Message, Risk: r.Risk.String(), RiskReason: r.RiskReason,
		Start: loggedDecision(r.Start), Mask: r.mask, DurationMS: r.DurationMS, Result: r.Value, Output: r.Stdout, CallCount: r.CallCount, Files: r.Files, Tokens: r.Tokens.logged(), Cache: r.Cache,
	}
	run.Plugins = r.Plugins
	if r.Tokens != nil {
		run.ToolTokens = r.Tokens.tools
	}
	if r.Error != nil {
		run.Message = r.Error.Name + ": " + r.Error.Message
	}
	for _, s := range r.Steps {
		if !s.Replayed {
			run.Steps = append(run.Steps, customer.Step{Kind: string(s.Kind), Name: s.Name, Number: s.Number, MS: s.DurationMS, Input: string(s.Input), Output: string(s.Output), Error: s.Error})
		}
	}
	for i := range r.Calls {
		run.Calls = append(run.Calls, LoggedCall(&r.Calls[i]))
	}
	return run
}

// LoggedCall returns the entry of a call.
func LoggedCall(c *chain.CallRecord) customer.Call {
	return customer.Call{Tool: c.Tool, MS: c.DurationMS, Outcome: c.Outcome, Decision: loggedDecision(c.Policy), Arguments: c.Masked, Cached: c.Cached, AgeMS: c.AgeMS, Plugins: c.Plugins}
}

func loggedDecision(d *policy.Decision) *customer.Decision {
	if d == nil || d.Rule == "" {
		return nil
	}
	return &customer.Decision{Effect: string(d.Effect), Rule: d.Source(), By: d.By}
}

// LoggedFailure returns the entry of a run that could not be started, with the command's exit code.
func LoggedFailure(s *Script, err error) *customer.Run {
	run := &customer.Run{
		Name: s.Name, Language: string(s.Language), Code: s.Code, ExitCode: exit.Of(err, exit.Runner), Cause: string(CauseFailed), Message: err.Error(), Risk: s.Risk.Overall().String(), RiskReason: s.Risk.Reason(),
	}
	refused, byRule := errors.AsType[*policy.RunError](err)
	denied, byPlugin := errors.AsType[*PluginError](err)
	_, restricted := errors.AsType[*RestrictedError](err)
	switch {
	case byRule:
		run.Start = loggedDecision(&refused.Decision)
	case byPlugin:
		run.Plugins = denied.logged()
	case restricted:
		run.Start = &customer.Decision{Effect: string(policy.Deny), Rule: "restricted"}
	case run.ExitCode == exit.Refused:
		run.Start = &customer.Decision{Effect: string(policy.Deny), Rule: "sandbox"}
	}
	if p := s.Calls.Personal; p != nil {
		run.Mask = p.MaskJSON
	}
	return run
}
