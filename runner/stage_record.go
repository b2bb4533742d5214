package runner

import (
	"context"
	"errors"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/record"
)

// record writes each call with its result to the recording.
func (c *calls) record(next handler) handler {
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
			e.Value, e.As, e.Text = res.Value, res.As, isJSON(req, res) && !res.Structured
		}
		if werr := c.recorder.Write(e); werr != nil {
			c.warn(&request{Request: call.Request{Seq: req.Seq}}, "the recording is incomplete: %v", werr)
		}
		return res, err
	}
}

// isJSON reports whether a tool's result is neither text nor content: it is structured, or was parsed from text.
func isJSON(req *request, res *call.Result) bool {
	return !req.Raw && !isAsk(req) && res.As == call.AsValue && len(res.Value) > 0 && res.Value[0] != '"'
}

// visible returns an error in the form in which a script gets it.
func visible(req *request, err error) *call.Error {
	var e *call.Error
	if errors.As(err, &e) {
		return e
	}
	return &call.Error{Kind: kindOf(err), Server: req.Server, Tool: req.Tool, Message: "the call did not end"}
}
