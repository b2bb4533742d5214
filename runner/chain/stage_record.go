package chain

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/record"
)

// record writes each call with its result to the recording.
func (c *Calls) record(next handler) handler {
	if c.recorder == nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		start := time.Now()
		res, err := next(ctx, req)
		e := record.Entry{Call: req.Seq, Tool: req.Tool, Args: req.Args, Raw: req.Raw, MS: ms(time.Since(start))}
		switch {
		case err != nil:
			e.Error = visible(req, err)
		case res.As == call.AsDry:
			return res, nil // the call was not made
		default:
			e.Value, e.As = res.Value, res.As
		}
		if werr := c.recorder.Write(e); werr != nil {
			c.warn(&request{Request: call.Request{Seq: req.Seq}}, "the recording is incomplete: %v", werr)
		}
		return res, err
	}
}

// isJSON reports whether a tool's result is neither text nor content.
func isJSON(req *request, res *call.Result) bool {
	return !req.Raw && !req.isAsk && res.As == call.AsValue && len(res.Value) > 0 && res.Value[0] != '"'
}

// visible returns an error in the form in which a script gets it.
func visible(req *request, err error) *call.Error {
	var e *call.Error
	if errors.As(err, &e) {
		return e
	}
	return &call.Error{Kind: kindOf(err), Server: req.Server, Tool: req.Tool, Message: "the call did not end"}
}

// replay answers calls from a recording instead of making them.
func (c *Calls) replay(next handler) handler {
	if c.player == nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		e, err := c.player.Answer(&req.Request, req.rank)
		switch {
		case err != nil:
			return nil, refusal(call.KindArgument, req, "%v", err)
		case e.Error != nil && e.Error.Kind == call.KindCancelled:
			<-ctx.Done() // in the recording, too, the script no longer waited for it
			return nil, ctx.Err()
		case e.Error != nil:
			return nil, e.Error
		}
		res := &call.Result{Value: e.Value, As: e.As}
		if e.Text {
			res.Value, _ = json.Marshal(string(e.Value)) // a string: it cannot fail
		}
		res.Structured = isJSON(req, res)
		return res, nil
	}
}
