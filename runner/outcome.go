package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/internal/hint"
	"github.com/mcpgen/mcpgen/runner/internal/output"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// result returns the Result of a run whose guest has ended.
func (x *run) result(ctx context.Context) *Result {
	res := &Result{
		ExitCode: x.exit.Code, Cause: CauseExit, Sandbox: x.script.Backend.Name(), Runtime: string(x.runtime),
		DurationMS: ms(time.Since(x.began)), MaxMemoryBytes: x.exit.MaxMemory,
		Value: x.outcome.Result, Error: x.script.shown(x.outcome.Error), Files: []string{},
	}
	if !x.ready.IsZero() {
		res.StartMS = ms(x.ready.Sub(x.began))
	}
	x.judge(ctx, res)
	x.calls.noted(x.outcome.Notes, x.script)
	if name := hint.MissingCredential(x.script.Code); name != "" && x.outcome.Error == nil {
		x.calls.warn(&request{}, "%s", hint.NotSet(name))
	}
	res.Warnings = x.calls.finish()
	res.Calls, res.CallCount = x.calls.usage.listed()
	for _, text := range []string{x.calls.usage.waited(), made(res), x.hint()} {
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

// shown returns an error as the result has it. Where output is limited its texts are shortened: a tool, or a hostile guest, may
// put very much in one, and standard error has all of it.
func (s *Script) shown(e *bridge.ScriptError) *bridge.ScriptError {
	if e == nil || s.MaxOutput == 0 {
		return e
	}
	return &bridge.ScriptError{Name: output.Shorten(e.Name), Message: output.Shorten(e.Message), Stack: output.Shorten(e.Stack)}
}

// judge sets how the run ended and which limits it reached. The order of the cases matters: a limit explains the end better than
// the signal that enforced it.
func (x *run) judge(ctx context.Context, res *Result) {
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
		res.Message = "the script was killed: " + x.script.overstepped(x.exit.Killed)
	case x.broken != nil:
		res.ExitCode, res.Cause, res.Message = ExitRunner, CauseBridge, fmt.Sprintf("the run was stopped: %v", x.broken)
	case x.closed && x.exit.Code == ExitRunner:
		// A guest that loses its connection exits with this code. Its script may have closed all descriptors.
		res.Cause, res.Message = CauseBridge, "the connection to the script was lost before it was done; did it close descriptors that it had not opened?"
	case x.outcome.Error != nil:
		res.Cause = CauseError
	}
	res.LimitsHit = hits(x.exit, res.Cause)
	if limit := ownWords(x.outcome.Error); res.Cause == CauseError && limit != "" && !slices.Contains(res.LimitsHit, limit) {
		res.LimitsHit = append(res.LimitsHit, limit)
		slices.Sort(res.LimitsHit)
	}
	if res.Message == "" {
		res.Message = x.script.ranInto(res.LimitsHit)
	}
	if res.Message == "" && res.Cause == CauseExit {
		res.Message = ownCode(res.ExitCode)
	}
}

// crashes maps exit codes to the signals that end a program which crashes.
var crashes = map[int]string{132: "SIGILL", 133: "SIGTRAP", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 139: "SIGSEGV"}

// ownCode explains an exit code of the script that mcprun also uses, or that stands for a crash; empty for any other.
func ownCode(code int) string {
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

// idle reports whether a run ended well and did nothing, though the script has a function. Other hosts call the function that a
// script consists of.
func (x *run) idle(res *Result) bool {
	return res.Cause == CauseExit && res.ExitCode == 0 && res.CallCount == 0 && len(res.Value) == 0 && len(res.Files) == 0 &&
		!x.output.Printed() && !x.calls.asked.Load() && function().MatchString(x.script.Code)
}

// maxMade bounds the rows of calls that a message lists.
const maxMade = 20

// made lists the calls of a run that ended badly, so that nobody repeats their effects by accident. It is empty when there were
// none, or the run ended well.
func made(res *Result) string {
	if res.Cause == CauseExit && crashes[res.ExitCode] == "" {
		return ""
	}
	rows, count := rowsOf(res.Calls, false)
	if len(rows) > maxMade {
		rows, _ = rowsOf(res.Calls, true)
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

// rowsOf counts the calls that were sent and describes them in rows. Equal calls share a row: those that follow one another, or,
// with together, all of them.
func rowsOf(calls []CallRecord, together bool) (rows []string, count int) {
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

// cpuPerTime is the default limit of processor time as a multiple of the timeout. It ends a guest that spins after its host was
// killed.
const cpuPerTime = 4

// limits returns the limits of the run. None is zero.
func (s *Script) limits() sandbox.Limits {
	l := s.Limits.WithDefaults()
	if l.CPU == 0 {
		l.CPU = cpuPerTime * s.timeout()
	}
	return l
}

// hits lists the limits that the run reached, sorted, each once.
func hits(exit sandbox.Exit, cause Cause) []string {
	all := slices.Clone(exit.Hit)
	if exit.Killed != "" {
		all = append(all, exit.Killed)
	}
	if cause == CauseTimeout {
		all = append(all, string(CauseTimeout))
	}
	if all == nil {
		return []string{}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ownWords returns the limit that an uncaught error is about, by the wording of the interpreters; empty for none. A refusal of the
// guest's kernel cannot be seen from outside, and a script that lies here misleads only its own caller.
func ownWords(e *bridge.ScriptError) string {
	if e == nil {
		return ""
	}
	starts := func(with string) bool { return strings.HasPrefix(e.Message, with) }
	again := strings.HasSuffix(e.Message, " EAGAIN")
	switch {
	case e.Name == "Error" && starts("EMFILE: "), e.Name == "OSError" && starts("[Errno 24] "):
		return sandbox.LimitFiles
	case e.Name == "MemoryError", e.Name == "OSError" && starts("[Errno 12] "), e.Name == "RangeError" && starts("Array buffer allocation failed"):
		return sandbox.LimitMemory
	case e.Name == "RuntimeError" && starts("can't start new thread"), e.Name == "Error" && again && (starts("spawn ") || starts("spawnSync ") || starts("Worker initialization failure:")),
		e.Name == "BlockingIOError" && starts("[Errno 11] ") && forks().MatchString(e.Stack):
		return sandbox.LimitProcesses
	}
	return ""
}

// forks matches calls that start a process. Elsewhere the same error has another cause.
var forks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(os\.)?(fork|forkpty|posix_spawnp?|spawn[lv]p?e?|popen)\(|fork_exec|subprocess\.|\bPopen\(|multiprocessing/`)
})

// overstepped describes how a script exceeded a limit, with the flag that sets it.
func (s *Script) overstepped(limit string) string {
	l := s.limits()
	switch limit {
	case sandbox.LimitMemory:
		return fmt.Sprintf("it wanted more than %s of memory (--memory)", size(l.Memory))
	case sandbox.LimitCPU:
		if s.Limits.CPU == 0 {
			return fmt.Sprintf("it used more than %v of processor time, %d times what --timeout gives it (--cpu)", l.CPU, cpuPerTime)
		}
		return fmt.Sprintf("it used more than %v of processor time (--cpu)", l.CPU)
	case sandbox.LimitProcesses:
		return fmt.Sprintf("it wanted more than %d processes and threads (--processes)", l.Processes)
	case sandbox.LimitOutput:
		return fmt.Sprintf("it printed more than %s (--output-limit)", size(l.Output))
	case sandbox.LimitDisk:
		return fmt.Sprintf("its workspace came to hold more than %s or %d files (--disk, --disk-files)", size(l.Disk), l.DiskFiles)
	case sandbox.LimitFiles:
		return fmt.Sprintf("it wanted more than %d open files (--open-files), or had epoll watch far more", l.Files)
	case sandbox.LimitFileSize:
		if l.Disk < l.FileSize {
			return fmt.Sprintf("it wanted a file of more than %s, which its workspace may hold (--disk)", size(l.Disk))
		}
		return fmt.Sprintf("it wanted a file of more than %s (--file-size)", size(l.FileSize))
	}
	return fmt.Sprintf("it ran into the limit of %s", limit)
}

// ranInto describes limits that did not end the script; empty when there are none.
func (s *Script) ranInto(limits []string) string {
	if len(limits) == 0 {
		return ""
	}
	words := make([]string, len(limits))
	for i, l := range limits {
		words[i] = s.overstepped(l)
	}
	return "the script ran into a limit: " + strings.Join(words, "; ")
}

// size formats a number of bytes in the largest unit that divides it.
func size(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
