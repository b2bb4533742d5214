package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
)

// journal answers the calls that a former execution of the run has made, and keeps how the others end. What a run's end cuts off is not kept:
// when the run is continued, the call is unknown if it was announced, and made otherwise.
func (c *Calls) journal(next handler) handler {
	if c.set.Journal == nil || c.set.DryRun || c.player != nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		args, err := catalog.Canonical(req.Args)
		if err != nil {
			args = req.Args
		}
		req.kept = c.set.Journal.Call(c.path(req.Step), req.Tool, args, req.Raw)
		if size := req.kept.Size(); size > 0 {
			if err := req.memory.take(ctx, landingCopies*int64(size)); err != nil {
				return nil, callError(ctx, req, err)
			}
		}
		out, err := req.kept.Outcome(ctx)
		req.announces = !c.chain.repeatable(req)
		switch {
		case err != nil:
			return nil, c.journalFailed(ctx, req, err)
		case out != nil:
			return c.replayed(req, out)
		case !req.announces:
		case req.kept.Interrupted():
			return c.refuseUnknown(ctx, req, (&call.UnknownError{}).Error())
		case req.kept.Doubtful():
			return c.refuseUnknown(ctx, req, "unknown whether this call was made already: an equal one was sent while a step ran, and this sandbox does not tell whether that was the step's; "+
				"put this call into a step of its own, or use a sandbox with Node.js; nothing was sent")
		case !c.alone(ctx, req):
			if ctx.Err() != nil {
				return nil, callError(ctx, req, ctx.Err())
			}
			return c.refuseUnknown(ctx, req, "unknown whether this call was made already: before its process ended, the run had sent a call of this tool that the script has not made "+
				"again, and this one is new; nothing was sent")
		}
		res, err := next(ctx, req)
		if err == nil || ctx.Err() == nil {
			c.keepOutcome(ctx, req, outcomeFor(req, res, err))
		}
		return res, err
	}
}

// alone is [journal.Call.Alone]. The run's clock is held while the call waits.
func (c *Calls) alone(ctx context.Context, req *request) bool {
	c.clock.Hold()
	defer c.clock.Release()
	return req.kept.Alone(ctx)
}

// refuseUnknown refuses a call that may have been made, now and whenever the run is continued.
func (c *Calls) refuseUnknown(ctx context.Context, req *request, message string) (*call.Result, error) {
	failed := refusal(call.KindUnknown, req, "%s", message)
	failed.Cause = &call.UnknownError{Call: req.Tool}
	c.keepOutcome(ctx, req, &journal.Outcome{Error: failed, Unknown: true, Sent: req.kept.Interrupted()})
	return nil, failed
}

// outcomeFor returns how a call ended.
func outcomeFor(req *request, res *call.Result, err error) *journal.Outcome {
	out := &journal.Outcome{Sent: req.waiting.wasSent(), ToolError: req.isToolError, Drift: req.drift}
	if err != nil {
		out.Error = visible(req, err)
	} else {
		out.Value, out.As, out.Structured = res.Value, res.As, res.Structured
	}
	return out
}

// keepOutcome adds an outcome to the journal. The script gets it in any case.
func (c *Calls) keepOutcome(ctx context.Context, req *request, out *journal.Outcome) {
	if err := req.kept.Finish(ctx, out); err != nil {
		c.advise(req, "how a call ended was not kept, so it is unknown if the run has to be continued: %v", err)
	}
}

// replayed returns an outcome of the journal. The policy knows already whose data the script gets; see [policy.Run.Continue].
func (c *Calls) replayed(req *request, out *journal.Outcome) (*call.Result, error) {
	req.isReplayed, req.isToolError, req.drift = true, out.ToolError, out.Drift
	if out.Sent {
		req.waiting.sent()
	}
	if out.Unknown {
		out.Error.Cause = &call.UnknownError{Call: req.Tool}
	}
	if out.Error != nil {
		return nil, out.Error
	}
	res := &call.Result{Value: out.Value, As: out.As, Structured: out.Structured}
	if req.Raw || req.isAsk {
		res.Raw = res.Value
	}
	return res, nil
}

// stay keeps calls from being sent when the process ends, which might cut them off. They are made where the run is continued.
func (c *Calls) stay(next handler) handler {
	if c.set.Journal == nil || c.set.DryRun || c.player != nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		select {
		case <-c.set.Ending:
			c.stays()
			<-ctx.Done()
			return nil, callError(ctx, req, ctx.Err())
		default:
			return next(ctx, req)
		}
	}
}

// intend announces a call in the journal, unless it may be made again. If that fails, the call is not sent.
func (c *Calls) intend(next handler) handler {
	if c.set.Journal == nil || c.set.DryRun || c.player != nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if req.announces {
			if err := req.kept.Intend(ctx); err != nil {
				return nil, c.journalFailed(ctx, req, err)
			}
		}
		return next(ctx, req)
	}
}

// journalFailed returns the error of a call that is not sent, because the journal cannot be used.
func (c *Calls) journalFailed(ctx context.Context, req *request, err error) error {
	if ctx.Err() != nil {
		return callError(ctx, req, ctx.Err())
	}
	c.advise(req, "the call was not made: %v", err)
	failed := refusal(call.KindInternal, req, "nothing was sent, because the journal of the run cannot be used: whoever started mcprun is told why")
	if errors.Is(err, journal.ErrTakenOver) {
		failed.Message = fmt.Sprintf("nothing was sent: %v", err)
	}
	failed.Cause = err
	return failed
}

// harmless are the methods of [Run.Answers] that may be called again when a run is continued: they change nothing that outlives the run. The proxy
// of network/fetch notes each connection itself. So are those below workflow/, which a program's compiler adds.
var harmless = map[string]bool{
	"tools/search": true, "pii/tokenize": true, "pii/detokenize": true, "output/image": true, "skills/load": true, "skills/list": true, "network/fetch": true,
}

// answerHost calls one of [Run.Answers]. One that changes something is noted in the journal first, as it cannot be repeated.
func (c *Calls) answerHost(ctx context.Context, a *call.Ask, own func(context.Context, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	c.askedHost.Store(true)
	if !harmless[a.Method] && !strings.HasPrefix(a.Method, "workflow/") && !c.set.DryRun {
		if err := c.set.Journal.Outside(ctx, "called "+a.Method); err != nil {
			return nil, c.journalFailed(ctx, &request{Request: call.Request{Seq: a.Seq}}, err)
		}
	}
	return own(ctx, a.Params)
}
