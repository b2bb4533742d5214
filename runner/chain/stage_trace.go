package chain

import (
	"context"
	"errors"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/telemetry"
)

// trace records each request to a server, and tells the server which span it belongs to.
func (c *Calls) trace(next handler) handler {
	t := c.chain.telemetry
	if t == nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		about := telemetry.Request{Method: "tools/call", Tool: req.Name, Server: req.Server}
		if req.isAsk {
			if about.Method, about.Tool = req.Name, ""; req.Name == methodTemplates {
				about.Method = "resources/templates/list"
			}
		}
		ctx, op := t.Client(ctx, about)
		sent := &upstream.Trace{Meta: op.Meta()}
		req.options.Trace = sent
		res, err := next(ctx, req)
		end := telemetry.Outcome{
			Connection: telemetry.Connection{Pipe: sent.Pipe, TCP: !sent.Pipe && sent.RequestID != "", Protocol: sent.Protocol},
			Session:    sent.Session, RequestID: sent.RequestID,
		}
		var failed *call.Error
		switch {
		case errors.As(err, &failed) && failed.Kind != call.KindTool:
			end.Error, end.Code = string(failed.Kind), failed.Code
		case failed != nil, err == nil && req.isToolError:
			end.Error = telemetry.ToolError
		case err != nil:
			end.Error = string(kindOf(err))
		}
		op.End(end)
		return res, err
	}
}
