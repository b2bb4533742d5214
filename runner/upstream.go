package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// callUpstream makes the call and turns the answer into what the script sees.
func (r *Runner) callUpstream(ctx context.Context, req *call.Request) (*call.Result, error) {
	if r.opt.Upstreams == nil {
		return nil, &call.Error{Kind: call.KindConnection, Server: req.Server, Tool: req.Tool, Message: "no servers are configured; mcprun reads them from .mcp.json"}
	}
	if d := r.opt.CallTimeouts[req.Server]; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	res, err := r.opt.Upstreams.Call(ctx, req.Server, req.Name, req.Args, nil)
	if err != nil {
		return nil, callError(ctx, req, err)
	}
	if res.IsError {
		return nil, toolError(req, res)
	}
	value, err := unwrap(res, r.jsonText(req))
	if err != nil {
		return nil, &call.Error{Kind: call.KindProtocol, Server: req.Server, Tool: req.Tool, Message: err.Error()}
	}
	return &call.Result{Value: value, Raw: res.Raw}, nil
}

func callError(ctx context.Context, req *call.Request, err error) *call.Error {
	out := &call.Error{Kind: call.KindConnection, Server: req.Server, Tool: req.Tool, Message: err.Error()}
	var protocol *upstream.ProtocolError
	switch {
	case errors.As(err, &protocol):
		out.Kind, out.Message, out.Code, out.Data = call.KindProtocol, protocol.Message, protocol.Code, protocol.Data
	case errors.Is(context.Cause(ctx), errTimeout):
		out.Kind, out.Message = call.KindTimeout, "the run's time was up before an answer came"
	case errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Message = call.KindTimeout, "no answer in time"
	case ctx.Err() != nil:
		out.Kind, out.Message = call.KindCancelled, "cancelled: the run ended first"
	}
	return out
}

// toolError carries what the tool said about its failure.
func toolError(req *call.Request, res *upstream.CallResult) *call.Error {
	content, _ := json.Marshal(res.Content)
	var texts []string
	for _, block := range res.Content {
		if text, ok := textOf(block); ok {
			texts = append(texts, text)
		}
	}
	message := strings.Join(texts, "\n")
	if message == "" {
		message = "the tool reported an error without a text"
	}
	return &call.Error{Kind: call.KindTool, Server: req.Server, Tool: req.Tool, Message: message, Content: content}
}

// jsonText reports whether the tool is known to answer with JSON in a text.
func (r *Runner) jsonText(req *call.Request) bool {
	if r.catalog == nil {
		return false
	}
	_, tool, ok := r.catalog.Lookup(req.Tool)
	return ok && tool.JSONText
}

// unwrap picks what a call returns: structuredContent, else a single text, else the list of content blocks. With
// jsonText, a text that is an object or a list in JSON is that object or list; any other stays a text.
func unwrap(res *upstream.CallResult, jsonText bool) (json.RawMessage, error) {
	if res.Structured != nil {
		return res.Structured, nil
	}
	if len(res.Content) == 1 {
		if text, ok := textOf(res.Content[0]); ok {
			if raw := bytes.TrimSpace([]byte(text)); jsonText && len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') && json.Valid(raw) {
				return raw, nil
			}
			return json.Marshal(text)
		}
	}
	if res.Content == nil {
		return json.RawMessage("[]"), nil
	}
	return json.Marshal(res.Content)
}

// textOf returns the text of a text block.
func textOf(block json.RawMessage) (string, bool) {
	var b struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(block, &b) != nil || b.Type != "text" || b.Text == nil {
		return "", false
	}
	return *b.Text, true
}
