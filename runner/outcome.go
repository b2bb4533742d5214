package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/internal/hint"
	"github.com/mcpgen/mcpgen/runner/internal/output"
)

// result returns the Result of a run whose guest has ended.
func (x *run) result(ctx context.Context) *Result {
	res := &Result{
		ExitCode: x.exit.Code, Cause: CauseExit, Sandbox: x.script.Backend.Name(), Runtime: string(x.runtime),
		DurationMS: ms(time.Since(x.began)), MaxMemoryBytes: x.exit.MaxMemory,
		Value: x.outcome.Result, Error: x.script.shortened(x.outcome.Error), Files: []string{},
	}
	if !x.ready.IsZero() {
		res.StartMS = ms(x.ready.Sub(x.began))
	}
	x.setCause(ctx, res)
	x.calls.warnOfNotes(x.outcome.Notes, x.script)
	if name := hint.MissingCredential(x.script.Code); name != "" && x.outcome.Error == nil {
		x.calls.warn(&request{}, "%s", hint.NotSet(name))
	}
	res.Warnings = x.calls.finish()
	res.Calls, res.CallCount = x.calls.usage.listed()
	for _, text := range []string{x.calls.usage.callsInFlight(), callsMade(res), x.hint()} {
		if text != "" {
			res.Message = strings.TrimPrefix(res.Message+"; "+text, "; ")
		}
	}
	if x.script.Capture {
		res.Stdout, res.StdoutCut = string(x.stdout.Data), x.stdout.Cut+x.output.Stdout.CutBytes()
		res.Stderr, res.StderrCut = string(x.stderr.Data), x.stderr.Cut+x.output.Stderr.CutBytes()
		res.Tokens = x.runner.countTokens(x.script, x.calls.usage, res.Stdout, res.Stderr, string(res.Value))
	}
	return res
}

// hint returns what to do about the error that ended the script; empty when there is nothing to say.
func (x *run) hint() string {
	x.calls.mu.Lock()
	texts := slices.Sorted(maps.Keys(x.calls.texts))
	x.calls.mu.Unlock()
	f := hint.Failure{
		Name: x.script.Name, Code: x.script.Code, Language: x.script.Language, Dir: x.script.Dir, Err: x.outcome.Error,
		Handles: x.calls.kept.Load(), TextTools: texts, Tree: x.runner.opt.Tree, Catalog: x.runner.catalog,
	}
	return f.Hint()
}

// shortened returns an error as the result contains it. Where output is limited, so are its texts: a tool or a hostile guest may put
// any amount into them, and standard error has all of it.
func (s *Script) shortened(e *bridge.ScriptError) *bridge.ScriptError {
	if e == nil || s.MaxOutput == 0 {
		return e
	}
	return &bridge.ScriptError{Name: output.Shorten(e.Name), Message: output.Shorten(e.Message), Stack: output.Shorten(e.Stack)}
}

// setCause sets how the run ended and which limits it reached. The order of the cases matters: a limit explains the end better than
// the signal that enforced it.
func (x *run) setCause(ctx context.Context, res *Result) {
	switch {
	case x.lost != nil:
		res.ExitCode, res.Cause, res.Message = ExitRunner, CauseBridge, x.lost.Error()
		var h interface{ Hint() string }
		if errors.As(x.lost, &h) {
			res.Message += "; " + h.Hint()
		}
	case errors.Is(x.cause, errTimeout):
		res.ExitCode, res.Cause = ExitTimeout, CauseTimeout
		res.Message = fmt.Sprintf("the script was stopped after %v (--timeout)", x.script.timeout())
	case ctx.Err() != nil:
		res.ExitCode, res.Cause, res.Message = ExitInterrupted, CauseInterrupted, "the run was interrupted"
	case x.cause != nil:
		res.ExitCode, res.Cause, res.Message = ExitRunner, CauseBridge, x.cause.Error()
	case x.exit.Killed != "":
		res.ExitCode, res.Cause = ExitKilled, Cause(x.exit.Killed)
		res.Message = "the script was killed: " + x.script.describeLimit(x.exit.Killed)
	case x.broken != nil:
		res.ExitCode, res.Cause, res.Message = ExitRunner, CauseBridge, fmt.Sprintf("the run was stopped: %v", x.broken)
	case x.closed && x.exit.Code == ExitRunner:
		// A guest that loses its connection exits with this code. Its script may have closed all descriptors.
		res.Cause, res.Message = CauseBridge, "the connection to the script was lost before it was done; did it close descriptors that it had not opened?"
	case x.outcome.Error != nil:
		res.Cause = CauseError
	}
	res.LimitsHit = limitsReached(x.exit, res.Cause)
	if limit := limitOfError(x.outcome.Error); res.Cause == CauseError && limit != "" && !slices.Contains(res.LimitsHit, limit) {
		res.LimitsHit = append(res.LimitsHit, limit)
		slices.Sort(res.LimitsHit)
	}
	if res.Message == "" {
		res.Message = x.script.describeLimits(res.LimitsHit)
	}
	if res.Message == "" && res.Cause == CauseExit {
		res.Message = explainExitCode(res.ExitCode)
	}
}

// crashes maps exit codes to the signals that end a program which crashes.
var crashes = map[int]string{132: "SIGILL", 133: "SIGTRAP", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 139: "SIGSEGV"}

// explainExitCode explains an exit code of the script that mcprun also uses, or that stands for a crash; empty for any other.
func explainExitCode(code int) string {
	if signal, ok := crashes[code]; ok {
		return fmt.Sprintf("exit code %d stands for %s: the interpreter crashed, or the script ended with that code", code, signal)
	}
	switch code {
	case ExitTimeout, ExitRunner, ExitRefused, ExitNoBackend, ExitKilled:
		return fmt.Sprintf("the script itself ended with exit code %d", code)
	}
	return ""
}

// function matches what looks like a function in either language.
var function = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`=>|\bfunction\b|(?m)^\s*(async )?def `) })

// didNothing reports whether a run ended well and did nothing, though the script has a function. Other hosts call the function that a
// script consists of.
func (x *run) didNothing(res *Result) bool {
	return res.Cause == CauseExit && res.ExitCode == 0 && res.CallCount == 0 && len(res.Value) == 0 && len(res.Files) == 0 &&
		!x.output.Printed() && !x.calls.askedHost.Load() && function().MatchString(x.script.Code)
}

// maxMade bounds the rows of calls that a message lists.
const maxMade = 20

// callsMade lists the calls of a run that ended badly, so that their effects are not repeated by accident. It is empty when there were
// none, or the run ended well.
func callsMade(res *Result) string {
	if res.Cause == CauseExit && crashes[res.ExitCode] == "" {
		return ""
	}
	rows, count := describeCalls(res.Calls, false)
	if len(rows) > maxMade {
		rows, _ = describeCalls(res.Calls, true)
	}
	if count == 0 {
		return ""
	}
	if len(rows) > maxMade {
		rows = append(rows[:maxMade:maxMade], fmt.Sprintf("and %d more", len(rows)-maxMade))
	}
	if more := res.CallCount - len(res.Calls); more > 0 {
		rows = append(rows, fmt.Sprintf("%d further calls were not recorded", more))
	}
	calls, them := "calls", "them"
	if count == 1 {
		calls, them = "call", "it"
	}
	verb := "already succeeded"
	if slices.ContainsFunc(res.Calls, func(c CallRecord) bool { return c.reached && c.Outcome != OutcomeOK }) {
		verb = "already reached a server"
	}
	return fmt.Sprintf("%d %s %s; running the script again will repeat %s: %s", count, calls, verb, them, strings.Join(rows, ", "))
}

// describeCalls counts the calls that were sent and describes them in rows. Equal calls share a row: those that follow one another, or,
// with together, all of them.
func describeCalls(calls []CallRecord, together bool) (rows []string, count int) {
	type kind struct{ tool, outcome string }
	var kinds []kind
	var times []int
	row := map[kind]int{}
	for _, c := range calls {
		if !c.reached {
			continue
		}
		count++
		k := kind{c.Tool, c.Outcome}
		at, known := row[k]
		if !known || !together && at != len(kinds)-1 {
			at = len(kinds)
			row[k] = at
			kinds, times = append(kinds, k), append(times, 0)
		}
		times[at]++
	}
	for i, k := range kinds {
		text := k.tool + " " + k.outcome
		if k.outcome != OutcomeOK {
			text = k.tool + " failed (" + k.outcome + ")"
		}
		if times[i] > 1 {
			text += fmt.Sprintf(" ×%d", times[i])
		}
		rows = append(rows, text)
	}
	return rows, count
}

// warnOfNotes turns what the guest noticed into warnings. The guest may be hostile: only names of tools count.
func (c *calls) warnOfNotes(notes map[string]int, s *Script) {
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		what, id, _ := strings.Cut(note, " ")
		_, tool, ok := c.r.catalog.Lookup(id)
		if !ok || notes[note] < 1 {
			continue
		}
		switch what {
		case "unawaited":
			c.warn(&request{}, "%s was called and never awaited; write: await %s(…), or add .catch(…) where nothing needs the result", id, ident.Camel(tool.Name))
		case "open":
			if notes["unawaited "+id] < 1 {
				c.warn(&request{}, "%s: its result came after the script's last output; await what calls it, as in: for (const item of list) { await … }, or await Promise.all(list.map(async …))", id)
			}
		case "text":
			c.warn(&request{}, "%s", hint.JSONInText(id, s.Language))
		}
	}
}

// maxInFlightRows bounds the rows of calls in flight that a message lists.
const maxInFlightRows = 5

// callsInFlight lists the calls that were in flight when the run ended; empty when there are none.
func (u *usage) callsInFlight() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	slices.SortFunc(u.inFlight, func(a, b CallRecord) int { return cmp.Compare(a.Call, b.Call) })
	return describeInFlight(u.inFlight)
}

func describeInFlight(calls []CallRecord) string {
	type kind struct{ tool, waits string }
	var kinds []kind
	times, longest := map[kind]int{}, map[kind]float64{}
	for _, c := range calls {
		if c.WaitingFor == "" {
			continue
		}
		k := kind{c.Tool, c.WaitingFor}
		if times[k]++; times[k] == 1 {
			kinds = append(kinds, k)
		}
		longest[k] = max(longest[k], c.WaitedMS)
	}
	var rows []string
	for _, k := range kinds[:min(len(kinds), maxInFlightRows)] {
		row := fmt.Sprintf("%s (waiting for %s for %v)", k.tool, k.waits, rounded(longest[k]))
		if times[k] > 1 {
			row += fmt.Sprintf(" ×%d", times[k])
		}
		rows = append(rows, row)
	}
	if more := len(kinds) - len(rows); more > 0 {
		rows = append(rows, fmt.Sprintf("and %d more", more))
	}
	if rows == nil {
		return ""
	}
	return "still under way: " + strings.Join(rows, ", ")
}

// rounded returns milliseconds as a duration with the digits that people read.
func rounded(ms float64) time.Duration {
	d := time.Duration(ms * float64(time.Millisecond))
	if d >= time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
