package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRounds bounds how often one call may ask for input before it is given up.
const maxRounds = 5

// codeHeaderMismatch is the error of a server that misses the headers a tool's x-mcp-header annotations ask for.
const codeHeaderMismatch = -32020

// CallResult is what a tool answered, byte for byte; only bytes that are no UTF-8 have become U+FFFD.
type CallResult struct {
	// Raw is the whole CallToolResult.
	Raw json.RawMessage
	// Structured is structuredContent; nil when there is none. In the older protocol era null is none.
	Structured json.RawMessage
	// Content are the blocks of content, of whatever kind; nil when there are none.
	Content []json.RawMessage
	// IsError says that the tool itself failed; Content then says why.
	IsError bool
}

// Call calls a tool. args is a JSON object and goes out with its digits as they are; empty means {}. When ctx ends the
// server is told that the call is cancelled.
//
// A tool that failed is a result with IsError, not an error. Errors: a *ProtocolError when the server answered with a
// JSON-RPC error or not as MCP says, a *ConnectionError, or the context's error.
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage, opt *CallOptions) (*CallResult, error) {
	doing := fmt.Sprintf("call %q", printable(tool, 200))
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	if err := s.learnHeaders(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	raw, err := s.round(ctx, doing, params)
	if err != nil && s.guard != nil && isHeaderMismatch(err) {
		// The headers come from the tool's definition, which the SDK knows once it has been listed.
		if _, err := s.listTools(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		raw, err = s.round(ctx, doing, params)
	}
	if err != nil {
		return nil, err
	}
	for range maxRounds {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
		result, more, err := parseResult(raw, s.modern())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, s.why.badAnswer("%v", err))
		}
		if more == nil {
			return result, nil
		}
		if err := s.decline(params, more); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		if raw, err = s.round(ctx, doing, params); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", doing, s.why.badAnswer("it asked for input more than %d times", maxRounds))
}

// round sends the request once and returns the raw result.
func (s *Session) round(ctx context.Context, doing string, params *mcp.CallToolParams) (json.RawMessage, error) {
	c := &capture{}
	up, cancel := s.whileUp(ctx)
	defer cancel()
	copied := *params // the SDK writes into it
	_, err := s.sdk.CallTool(withCapture(up, c), &copied)
	c.release()
	if err != nil && (c.raw == nil || c.answer != nil || ctx.Err() != nil) { // an answer counts, even one that crossed with the end
		return nil, s.fail(ctx, c, doing, err)
	}
	return c.raw, nil
}

// learnHeaders makes the definitions of tools known before the first call: over HTTP, in the newer era, some arguments
// have to be repeated in headers, and the definition says which. A server that does not list its tools is called all
// the same; it will say so if it misses a header. The error is a *ConnectionError or the context's.
func (s *Session) learnHeaders(ctx context.Context) error {
	if s.guard == nil || !s.modern() {
		return nil
	}
	s.listMu.Lock()
	defer s.listMu.Unlock()
	if s.listed {
		return nil
	}
	_, err := s.listTools(ctx)
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
	s.listed = true
	return nil
}

func isHeaderMismatch(err error) bool {
	var p *ProtocolError
	return errors.As(err, &p) && p.Code == codeHeaderMismatch
}

// inputRequired is a result that asks for more before the call goes on.
type inputRequired struct {
	requests map[string]string // the method by the server's own id
	state    string
}

// parseResult reads a CallToolResult; either the result or what it asks for is nil.
func parseResult(raw json.RawMessage, modern bool) (*CallResult, *inputRequired, error) {
	var fields map[string]json.RawMessage // a map: the names of its keys count exactly
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, nil, errors.New("its result is not an object")
	}
	var kind string
	if t := fields["resultType"]; t != nil && json.Unmarshal(t, &kind) != nil {
		return nil, nil, errors.New(`"resultType" in its result is not a string`)
	}
	switch {
	case kind == "input_required" || kind == "" && fields["inputRequests"] != nil:
		more, err := parseInput(fields)
		return nil, more, err
	case kind != "" && kind != "complete":
		return nil, nil, fmt.Errorf("its result is of the type %q, which this client did not ask for", printable(kind, 100))
	}
	out := &CallResult{Raw: raw}
	if c := fields["content"]; c != nil && json.Unmarshal(c, &out.Content) != nil {
		return nil, nil, errors.New(`"content" in its result is not a list`)
	}
	if f := fields["isError"]; f != nil && json.Unmarshal(f, &out.IsError) != nil {
		return nil, nil, errors.New(`"isError" in its result is not a boolean`)
	}
	out.Structured = fields["structuredContent"]
	if !modern && string(out.Structured) == "null" {
		out.Structured = nil
	}
	return out, nil, nil
}

func parseInput(fields map[string]json.RawMessage) (*inputRequired, error) {
	more := &inputRequired{requests: make(map[string]string)}
	var requests map[string]struct {
		Method string `json:"method"`
	}
	if r := fields["inputRequests"]; r != nil && json.Unmarshal(r, &requests) != nil {
		return nil, errors.New(`"inputRequests" in its result is not an object`)
	}
	if st := fields["requestState"]; st != nil && json.Unmarshal(st, &more.state) != nil {
		return nil, errors.New(`"requestState" in its result is not a string`)
	}
	for id, r := range requests {
		more.requests[id] = r.Method
	}
	return more, nil
}

// decline prepares the next round: every question to a person is declined, anything else this client does not do.
func (s *Session) decline(params *mcp.CallToolParams, more *inputRequired) error {
	params.RequestState = more.state
	params.InputResponses = make(mcp.InputResponseMap, len(more.requests))
	for id, method := range more.requests {
		if method != methodElicit {
			return s.why.protocol(jsonrpc.CodeMethodNotFound, fmt.Sprintf("it asks the client for %q, which this client does not offer", printable(method, 100)), nil)
		}
		s.log.Info("the server asked for input from a person; declined")
		params.InputResponses[id] = &mcp.ElicitResult{Action: "decline"}
	}
	return nil
}
