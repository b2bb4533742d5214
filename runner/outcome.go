package runner

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// result turns how the guest ended into what the caller is told. The order of the cases matters: a limit explains a
// death better than the signal that enforced it.
func (x *run) result(ctx context.Context) *Result {
	res := &Result{
		ExitCode: x.exit.Code, Cause: CauseExit, Sandbox: x.script.Backend.Name(), Runtime: string(x.runtime),
		DurationMS: ms(time.Since(x.began)), MaxMemoryBytes: x.exit.MaxMemory,
		Value: x.outcome.Result, Error: x.outcome.Error, Files: []string{},
	}
	if !x.ready.IsZero() {
		res.StartMS = ms(x.ready.Sub(x.began))
	}
	x.judge(ctx, res)
	x.usage.mu.Lock()
	res.Calls, res.CallCount = x.usage.calls, x.usage.total
	x.usage.mu.Unlock()
	if res.Calls == nil {
		res.Calls = []CallRecord{}
	}
	if x.script.Capture {
		res.Stdout, res.StdoutCut = string(x.stdout.data), x.stdout.cut
		res.Stderr, res.StderrCut = string(x.stderr.data), x.stderr.cut
		res.Tokens = x.runner.countTokens(x.script, x.usage, res.Stdout, res.Stderr)
	}
	return res
}

// judge says how the run ended, and which limits it met.
func (x *run) judge(ctx context.Context, res *Result) {
	switch {
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
		// The code of a guest that finds its connection gone. Its script may have closed it with all other descriptors.
		res.Cause, res.Message = CauseBridge, "the connection to the script was lost before it was done; did it close descriptors that it had not opened?"
	case x.outcome.Error != nil:
		res.Cause = CauseError
	}
	res.LimitsHit = hits(x.exit, res.Cause)
	if res.Message == "" {
		res.Message = x.script.ranInto(res.LimitsHit)
	}
}
