package chain

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
func (ch *Chain) callUpstream(ctx context.Context, req *request) (*call.Result, error) {
	if ch.upstreams == nil {
		return nil, noServers(req)
	}
	res, err := ch.upstreams.Call(ctx, req.Server, req.Name, req.Args, req.options)
	req.recordAttempt(ctx, err)
	switch {
	case err != nil:
		return nil, callError(ctx, req, err)
	case req.Raw:
		req.isToolError = res.IsError
		return &call.Result{Value: res.Raw, Raw: res.Raw}, nil
	case res.IsError:
		return nil, toolError(req, res)
	}
	out, err := unwrap(res)
	if err != nil {
		return nil, refusal(call.KindProtocol, req, "%v", err)
	}
	return out, nil
}

func noServers(req *request) *call.Error {
	return refusal(call.KindConnection, req, "no servers are configured; mcprun reads them from mcpgen.json or .mcp.json")
}

func callError(ctx context.Context, req *request, err error) *call.Error {
	out := &call.Error{Kind: call.KindConnection, Server: req.Server, Tool: req.Tool, Message: err.Error(), Cause: err}
	var protocol *upstream.ProtocolError
	var ended *upstream.TaskError
	var late *callTimeout
	switch {
	case errors.As(err, &protocol):
		out.Kind, out.Message, out.Code, out.Data = call.KindProtocol, protocol.Message, protocol.Code, protocol.Data
	case errors.As(err, &ended):
		out.Kind, out.Message = call.KindProtocol, ended.Reason
	case errors.Is(err, upstream.ErrUnknownServer):
		out.Message = "the server is in the tree but is not configured, or is disabled: add it to mcpgen.json or .mcp.json, or take disabled out of mcpgen.yaml"
	case errors.Is(context.Cause(ctx), ErrRunTimeout):
		out.Kind, out.Message = call.KindTimeout, "the run timed out before an answer came"
		if what, _ := req.waiting.now(); what != "" && what != waitAnswer {
			out.Message = "the run timed out while the call waited for " + what.words(req.Server)
		}
	case errors.As(context.Cause(ctx), &late):
		out.Kind, out.Message = call.KindTimeout, late.Error()
		out.Retryable = late.unsent() && !req.waiting.wasSent()
	case errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Message = call.KindTimeout, "no answer in time"
	case ctx.Err() != nil:
		out.Kind, out.Message = call.KindCancelled, "cancelled: the script or its run ended first"
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			out.Message = "cancelled: " + cause.Error()
		}
		if req.waiting.wasSent() {
			out.Message += "; the call had reached the server and may have taken effect"
		}
	}
	return out
}

// toolError returns the failure that a tool reported.
func toolError(req *request, res *upstream.CallResult) *call.Error {
	content, _ := json.Marshal(res.Content)
	var texts []string
	for _, block := range res.Content {
		if text, ok := textOf(block); ok {
			texts = append(texts, text)
		}
	}
	message := strings.Join(texts, "\n")
	if message == "" {
		message = "the tool reported an error without a message"
	}
	return &call.Error{Kind: call.KindTool, Server: req.Server, Tool: req.Tool, Message: message, Content: content}
}

// unwrap returns the value of a result: structuredContent, or else a single text, or else the list of content blocks. Bytes stay as
// they came where possible.
func unwrap(res *upstream.CallResult) (*call.Result, error) {
	out := &call.Result{Raw: res.Raw}
	if res.Structured != nil {
		out.Value, out.Structured = res.Structured, true
		return out, nil
	}
	if len(res.Content) == 1 {
		if quoted, ok := quotedText(res.Content[0]); ok {
			out.Value = quoted
			return out, nil
		}
	}
	out.As = call.AsContent
	if res.Content == nil {
		out.Value = json.RawMessage("[]")
		return out, nil
	}
	var err error
	out.Value, err = joined(res.Content)
	return out, err
}

// joined returns a JSON array of values, unchanged.
func joined(values []json.RawMessage) (json.RawMessage, error) {
	size := 2
	for _, v := range values {
		size += len(v) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		if len(v) == 0 {
			return nil, errors.New("a content block is empty")
		}
		out = append(out, v...)
	}
	return append(out, ']'), nil
}

// quotedText returns the text of a text block as a JSON string. It shares memory with the block where possible.
func quotedText(block json.RawMessage) (json.RawMessage, bool) {
	fields, err := upstream.Members(block)
	var kind string
	if err != nil || json.Unmarshal(fields["type"], &kind) != nil || kind != "text" || !bytes.HasPrefix(fields["text"], []byte(`"`)) {
		return nil, false
	}
	if !bytes.Contains(fields["text"], []byte(`\u`)) {
		return fields["text"], true
	}
	var text string // a lone surrogate becomes U+FFFD, which every guest can read
	if json.Unmarshal(fields["text"], &text) != nil {
		return nil, false
	}
	quoted, err := json.Marshal(text)
	return quoted, err == nil
}

// textOf returns the text of a text block.
func textOf(block json.RawMessage) (string, bool) {
	quoted, ok := quotedText(block)
	var text string
	if !ok || json.Unmarshal(quoted, &text) != nil {
		return "", false
	}
	return text, true
}
