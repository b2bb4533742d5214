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

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/internal/hint"
	"github.com/mcpgen/mcpgen/runner/internal/output"
)

// result returns the Result of a run whose guest has ended.
func (x *run) result(ctx context.Context) *Result {
	res := &Result{
		ExitCode: x.exit.Code, Cause: CauseExit, Sandbox: x.script.Backend.Name(), Runtime: string(x.runtime),
		DurationMS: ms(time.Since(x.began)), MaxMemoryBytes: x.exit.MaxMemory,
		Risk: x.script.Risk.Overall(), RiskReason: x.script.Risk.Reason(), Value: x.outcome.Result, Error: x.script.shortened(hideError(x.script.Calls.Personal, x.outcome.Error)), Files: []string{},
	}
	if !x.ready.IsZero() {
		res.StartMS = ms(x.ready.Sub(x.began))
	}
	if x.script.Start.Rule != "" {
		res.Start = &x.script.Start
	}
	res.Connections, res.ConnectionCount, res.Reached = x.network.close()
	if p := x.script.Calls.Personal; p != nil {
		for i := range res.Connections {
			hideConnection(p.Mask, &res.Connections[i])
		}
	}
	x.warnOfConnections(res.Connections)
	x.setCause(ctx, res)
	x.warnOfNotes()
	if res.Cause == CauseExit && res.ExitCode == 0 {
		x.warnOfCaught()
	}
	x.setAside()
	if x.outcome.Error == nil && hint.TakesWholeResult(x.script.Code) {
		x.calls.Warn("%s", hint.WholeResult)
	}
	if name := hint.MissingCredential(x.script.Code); name != "" && x.outcome.Error == nil && x.job.Env[name] == "" {
		x.calls.Warn("%s", hint.NotSet(name))
	}
	if o := x.script.Calls.Observer; o != nil {
		if err := o.Flush(); err != nil {
			x.calls.Warn("the shapes of results are not kept (learn: traffic): %v", err)
		}
	}
	x.warnOfTokens()
	x.warnOfTrouble()
	x.summary, res.mask = x.calls.Finish(), x.calls.Mask
	res.Steps, res.Waits = x.summary.Steps, x.summary.Waits
	res.Warnings, res.Calls, res.CallCount = x.summary.Warnings, x.summary.Calls, x.summary.Count
	res.Cache = x.summary.Cache.Some()
	made := ""
	if x.script.Calls.Workflow == "" && (res.Cause != CauseExit || crashes[res.ExitCode] != "") { // a workflow does not repeat them
		made = x.summary.Made()
	}
	for _, text := range []string{x.summary.InFlight, made, x.hint()} {
		if text != "" {
			res.Message = strings.TrimPrefix(res.Message+"; "+text, "; ")
		}
	}
	if x.script.Capture {
		res.Stdout, res.StdoutCut = string(x.stdout.Data), x.stdout.Cut+x.output.Stdout.CutBytes()
		res.Stderr, res.StderrCut = string(x.stderr.Data), x.stderr.Cut+x.output.Stderr.CutBytes()
	}
	return res
}

// imageTime bounds the question which packages the image of a sandbox has.
const imageTime = 2 * time.Second

// hint returns what to do about the error that ended the script, or "" if there is nothing to say.
func (x *run) hint() string {
	f := hint.Failure{
		Name: x.script.Name, Code: x.script.Code, Language: x.script.Language, Dir: x.script.Dir, Err: x.outcome.Error,
		Installed: func() string {
			ctx, cancel := context.WithTimeout(context.Background(), imageTime)
			defer cancel()
			return importable(x.runner.opt.Packages, x.script.Backend.Probe(ctx).Packages, x.script.Language)
		},
		Network: x.network != nil, Handles: x.summary.Handles, ParsedTools: x.summary.ParsedTools, TextTools: x.summary.TextTools, Tree: x.runner.opt.Tree, Catalog: x.runner.catalog,
	}
	return f.Hint()
}

// shortened returns the error for the result. If output is limited, so are the error's texts, since a tool or a hostile guest can make them
// any length. Standard error has the full texts.
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
		res.ExitCode, res.Cause, res.Message = exit.Runner, CauseBridge, exit.Hinted(x.lost).Error()
	case errors.Is(x.cause, chain.ErrSuspended):
		res.ExitCode, res.Cause = 0, CauseSuspended
	case errors.Is(x.cause, chain.ErrRunTimeout):
		res.ExitCode, res.Cause = exit.Timeout, CauseTimeout
		res.Message = fmt.Sprintf("the script was stopped after %s (--timeout)", config.FormatDuration(x.script.timeout()))
	case ctx.Err() != nil:
		res.ExitCode, res.Cause, res.Message = exit.Interrupted, CauseInterrupted, "the run was interrupted"
	case x.cause != nil:
		res.ExitCode, res.Cause, res.Message = exit.Runner, CauseBridge, x.cause.Error()
	case x.exit.Killed != "":
		res.ExitCode, res.Cause = exit.Killed, Cause(x.exit.Killed)
		res.Message = "the script was killed: " + x.script.describeLimit(x.exit.Killed)
	case x.broken != nil:
		res.ExitCode, res.Cause, res.Message = exit.Runner, CauseBridge, fmt.Sprintf("the run was stopped: %v", x.broken)
	case x.closed && x.exit.Code == exit.Runner:
		// A guest that loses its connection exits with this code, for instance because its script closed all descriptors.
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

// explainExitCode explains an exit code of the script that mcprun also uses or that stands for a crash. For other codes it returns "".
func explainExitCode(code int) string {
	if signal, ok := crashes[code]; ok {
		return fmt.Sprintf("exit code %d stands for %s: the interpreter crashed, or the script ended with that code", code, signal)
	}
	switch code {
	case exit.Timeout, exit.Runner, exit.Refused, exit.NoBackend, exit.Killed:
		return fmt.Sprintf("the script itself ended with exit code %d", code)
	}
	return ""
}

// function matches what looks like a function in either language.
var function = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`=>|\bfunction\b|(?m)^\s*(async )?def `) })

// showedNothing reports whether a run ended well without any trace: it printed nothing, has no result, wrote no file, and called only
// tools that read. Other systems show the value of the last line, or call the function that a script consists of.
func (x *run) showedNothing(res *Result) bool {
	return res.Cause == CauseExit && res.ExitCode == 0 && len(res.Value) == 0 && len(res.Files) == 0 && !x.output.Printed() && !x.summary.AskedHost &&
		strings.TrimSpace(x.script.Code) != "" && !slices.ContainsFunc(res.Calls, x.mayWrite)
}

// mayWrite reports whether, by the tool's hints, a call may have changed something.
func (x *run) mayWrite(rec chain.CallRecord) bool {
	_, tool, ok := x.runner.catalog.Lookup(rec.Tool)
	return !ok || tool.Hints.ReadOnly == nil || !*tool.Hints.ReadOnly
}

// warnOfNotes turns the guest's notes into warnings. The guest may be hostile, so only the names of tools are used.
func (x *run) warnOfNotes() {
	notes := x.outcome.Notes
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		what, id, _ := strings.Cut(note, " ")
		id, path, _ := strings.Cut(id, " ")
		_, tool, ok := x.runner.catalog.Lookup(id)
		if !ok || notes[note] < 1 {
			continue
		}
		switch what {
		case "unawaited":
			x.calls.Warn("%s was called and never awaited; write: await %s(…), or add .catch(…) where nothing needs the result", id, ident.Camel(tool.Name))
		case "open":
			if notes["unawaited "+id] < 1 {
				x.calls.Warn("%s: its result came after the script's last output; await what calls it, as in: for (const item of list) { await … }, or await Promise.all(list.map(async …))", id)
			}
		case "text":
			x.calls.Warn("%s", hint.TextResult(id, x.script.Language))
			x.calls.Advise("mcpgen learn %s gives its result a type", id)
		case "member":
			if problem := missingMember(tool.Output, path); problem != "" {
				x.calls.Warn("%s: %s", id, problem)
				x.toldMember = true
			}
		}
	}
}

var (
	// failureWord matches words by which output says that something failed. noFailure matches phrases that use such a word to say the
	// opposite.
	failureWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`fail|error|exception|refuse|denied|could not|couldn't|cannot|unable|skipp`)
	})
	noFailure = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:no|0|zero|without)\s+(?:\w+\s+)?(?:error|fail|exception)\w*|(?:error|fail|exception|skipp)\w*["']?\s*[:=]\s*(?:0\b|\[\]|\{\}|none|null|false)`)
	})
)

// mentionsFailure reports whether output says that something failed, or quotes the message of a failure.
func mentionsFailure(output, message string) bool {
	output = strings.ToLower(output)
	return message != "" && strings.Contains(output, strings.ToLower(message)) || failureWord().MatchString(noFailure().ReplaceAllString(output, " "))
}

// warnOfCaught warns of failed calls whose errors the script caught and never mentioned: its result may be incomplete.
func (x *run) warnOfCaught() {
	failed := x.calls.Failed()
	if len(failed) == 0 {
		return
	}
	first := slices.MinFunc(failed, func(a, b chain.CallRecord) int { return cmp.Compare(a.Call, b.Call) })
	said, _, _ := strings.Cut(first.Error, "\n")
	said = ident.Clip(said, 200)
	shown, complete := x.output.First()
	if !complete || mentionsFailure(string(shown)+" "+string(x.script.Calls.Personal.MaskJSON(x.outcome.Result)), said) {
		return
	}
	if len(failed) == 1 {
		x.calls.Warn("1 call failed and was caught, and the script does not mention it: %s: %s", first.Tool, said)
		return
	}
	x.calls.Warn("%d calls failed and were caught, and the script does not mention it; the first: %s: %s", len(failed), first.Tool, said)
}

func ms(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
