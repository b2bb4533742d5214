package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/rawjson"
)

// CallResult is a tool's answer, byte for byte, except that invalid UTF-8 is replaced by U+FFFD. Its parts share their
// memory with Raw.
type CallResult struct {
	// Raw is the whole CallToolResult.
	Raw json.RawMessage
	// Structured is structuredContent, or nil if there is none. In the older protocol era, a null is nil too.
	Structured json.RawMessage
	// Content has the content blocks, of any kind; it may be nil.
	Content []json.RawMessage
	// IsError says that the tool itself failed; Content then says why.
	IsError bool
}

// Call calls a tool. args is a JSON object whose numbers are sent digit by digit; empty means {}. If ctx ends, the
// server is notified that the call is cancelled.
//
// A tool that failed is a result with IsError, not an error. Errors: a *ProtocolError if the server answered with a
// JSON-RPC error or broke the MCP protocol, a *ConnectionError, a *TaskError if the server answered with a task that has no
// result, or the context's error. A task is polled until it ends, and cancelled if ctx ends first.
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage, opt *CallOptions) (*CallResult, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	r := request{doing: fmt.Sprintf("call %q", ident.Printable(tool, 200)), opt: opt, tasks: true, send: func(ctx context.Context, meta mcp.Meta) error {
		_, err := s.sdk.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: tool, Arguments: args})
		return err
	}}
	if err := s.learnHeaders(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", r.doing, err)
	}
	raw, err := s.exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	result, err := parseResult(raw, s.modern())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.doing, s.errs.badAnswer("%v", err))
	}
	return result, nil
}

// TTL returns how long an answer may be kept, if the server says so in it (MCP 2026-07-28, ttlMs). 0: it may not be kept.
func TTL(raw json.RawMessage) (ttl time.Duration, said bool) {
	fields, err := rawjson.Members(raw)
	if err != nil {
		return 0, false
	}
	ttl = milliseconds(fields["ttlMs"], -1)
	return max(ttl, 0), len(fields["ttlMs"]) > 0
}

// learnHeaders lists the tools before the first call: over HTTP, in the newer era, some arguments have to be repeated in
// headers, and the definition says which. If the server does not list its tools, the call is made anyway, and the server
// reports a missing header. The error is a *ConnectionError or the context's.
func (s *Session) learnHeaders(ctx context.Context) error {
	if s.http == nil || !s.modern() || s.listed.Load() {
		return nil
	}
	_, err := s.toolList(ctx, false)
	var gone *ConnectionError
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &gone):
		gone.NotSent = true // the call itself
		return gone
	case err != nil:
		s.log.Debug("list the tools before the first call", "err", err)
	}
	s.listed.Store(true)
	return nil
}

// parseResult reads a complete CallToolResult.
func parseResult(raw json.RawMessage, modern bool) (*CallResult, error) {
	fields, err := rawjson.Members(raw)
	if err != nil {
		return nil, errors.New("its result is not an object")
	}
	out := &CallResult{Raw: raw}
	if c := fields["content"]; c != nil && string(c) != "null" {
		if out.Content, err = rawjson.Elements(c); err != nil {
			return nil, errors.New(`"content" in its result is not a list`)
		}
	}
	if f := fields["isError"]; f != nil && json.Unmarshal(f, &out.IsError) != nil {
		return nil, errors.New(`"isError" in its result is not a boolean`)
	}
	out.Structured = fields["structuredContent"]
	if !modern && string(out.Structured) == "null" {
		out.Structured = nil
	}
	return out, nil
}
