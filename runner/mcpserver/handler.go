package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/runqueue"
)

// handler answers the calls of a tool.
func (cs *customerServer) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState != "" {
			return cs.resume(ctx, t, req)
		}
		v, err := cs.s.refresh(ctx)
		if err != nil {
			c := &toolCall{cs: cs, tool: t, args: req.Params.Arguments, session: sessionOf(req), client: clientOf(req)}
			return cs.result(nil, c.refused(ctx, modelErrorf("%s: nothing was done: %s", t.name, reasonOf(err))))
		}
		cs.openStream(req)
		if t.long {
			return cs.startLongCall(ctx, v, t, req)
		}
		p := progress.New(ctx, req, cs.s.opt.Quiet, t.name+" running")
		defer p.Close()
		return cs.result(t.run(ctx, &toolCall{cs: cs, view: v, tool: t, args: req.Params.Arguments, progress: p, session: sessionOf(req), client: clientOf(req)}))
	}
}

// openStream sends the headers of the HTTP answer once the request is known to be valid and to get a result.
func (cs *customerServer) openStream(req *mcp.CallToolRequest) {
	if req.Extra != nil {
		cs.s.streams.Open(req.Extra.Header)
	}
}

// metaKey is the member of a result's _meta for what programs may want and a model need not read.
const metaKey = "com.github.mcpgen/run"

// result returns the result for the client. Errors that are not written for the model may describe this machine and only go to the log. An
// error of JSON-RPC is returned as it is.
func (cs *customerServer) result(r *reply, err error) (*mcp.CallToolResult, error) {
	if protocol, ok := errors.AsType[*jsonrpc.Error](err); ok {
		protocol.Message = ident.CleanText(protocol.Message)
		return nil, protocol
	}
	if err != nil {
		var forModel *modelError
		var busy *runqueue.BusyError
		text := err.Error()
		if !errors.As(err, &forModel) && !errors.As(err, &busy) {
			cs.logger().Warn("a tool failed", "error", err)
			text = "the server could not do this; its log has the reason"
		}
		text = ident.CleanText(text) // it may quote other servers
		r = &reply{text: text, data: map[string]any{"success": false, "error": text}, failed: true}
	}
	res := &mcp.CallToolResult{IsError: r.failed, StructuredContent: r.data}
	if r.data != nil && !r.foreign {
		data, err := withSuccess(r.data, !r.failed)
		if err != nil {
			return nil, err
		}
		res.StructuredContent = data
	}
	if r.text != "" || len(r.blocks) == 0 {
		res.Content = append(res.Content, &mcp.TextContent{Text: r.text})
	}
	res.Content = append(res.Content, r.blocks...)
	if !r.hidden {
		cs.hideResult(res)
	}
	if r.meta != nil {
		res.Meta = mcp.Meta{metaKey: r.meta}
	}
	return res, nil
}

// withSuccess returns an object as JSON, with a leading member success unless it already begins with one.
func withSuccess(data any, success bool) (json.RawMessage, error) {
	text, err := compactJSON(data)
	if err != nil {
		return nil, err
	}
	const member = `{"success":`
	switch rest, _ := strings.CutPrefix(text, "{"); {
	case strings.HasPrefix(text, member):
		return json.RawMessage(text), nil
	case rest == "}":
		return json.RawMessage(member + strconv.FormatBool(success) + "}"), nil
	default:
		return json.RawMessage(member + strconv.FormatBool(success) + "," + rest), nil
	}
}
