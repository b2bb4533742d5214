package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream/httpclient"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/rawjson"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/safetext"
)

// CallOptions are the settings of one call. Nil, and every zero value, is valid.
type CallOptions struct {
	// Progress is called for each progress notification of the call, one at a time and never after the call has returned.
	// Of a flood of notifications some are left out.
	Progress func(Progress)
	// Elicit answers what the server asks a person because of this call. With nil, or without [Options.Elicit], every
	// question is declined.
	Elicit ElicitFunc
	// Declined is called with the reason, for people, why a question of the call was declined without asking Elicit, or why
	// an answer of Elicit was not sent, or not whole. Parts of the text are the server's: hostile, and bounded. It may be nil.
	Declined func(reason string)
	// Owner says who makes the call, such as a run; any comparable value. In the older protocol era a question that does
	// not come in a call's own stream is asked only if all calls in flight in the session have one owner, and declined
	// otherwise; a [Pool] keeps the calls of several owners apart then. With nil the call has an owner of its own.
	Owner any
	// Reserve waits until there is memory for an answer of at least [LargeAnswer] bytes. It is called at most once for
	// each answer that is so large: over HTTP before the answer is read, with its size or, if the server does not give
	// one, [LargeGuess]; over pipes when the answer has been read. An error ends the call. Nil reserves nothing.
	Reserve func(ctx context.Context, bytes int) error
}

// LargeAnswer is the size in bytes from which an answer is large. LargeGuess stands for the size of a large answer whose
// size is not known.
const (
	LargeAnswer = httpclient.LargeAnswer
	LargeGuess  = httpclient.LargeGuess
)

// Progress is one notification of progress (MCP 2025-06-18, basic/utilities/progress).
type Progress struct {
	Progress float64
	Total    float64 // 0 if unknown
	Message  string  // hostile; may be empty; at most 1 KiB, without control characters
}

// ElicitFunc answers a question. An error means that the person cancelled. ctx ends when nobody waits for the answer any
// more. Questions of one call come one at a time, those of several calls may not.
type ElicitFunc func(ctx context.Context, q *Question) (*Reply, error)

// CallResult is what a tool answered, byte for byte; only invalid UTF-8 is replaced by U+FFFD. Its parts share their
// memory with Raw.
type CallResult struct {
	// Raw is the whole CallToolResult.
	Raw json.RawMessage
	// Structured is structuredContent, or nil. In the older protocol era null is nil too.
	Structured json.RawMessage
	// Content are the blocks of content, of whatever kind; it may be nil.
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
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	r := request{doing: fmt.Sprintf("call %q", safetext.Printable(tool, 200)), opt: opt, send: func(ctx context.Context, meta mcp.Meta) error {
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

// learnHeaders lists the tools before the first call: over HTTP, in the newer era, some arguments have to be repeated in
// headers, and the definition says which. If the server does not list its tools the call is made anyway; the server says
// if it misses a header. The error is a *ConnectionError or the context's.
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

// Wait is what a request waits for.
type Wait string

const (
	WaitStart  Wait = "start"  // the server to be started or dialled, and to agree on a protocol version
	WaitList   Wait = "list"   // the server's list of tools
	WaitAnswer Wait = "answer" // the answer, or nothing in particular
)

type waitsKey struct{}

// WithWaits returns a context under which requests of a [Pool] report what they wait for, each time that it changes.
// report is called in the request's own goroutine and must return at once.
func WithWaits(ctx context.Context, report func(Wait)) context.Context {
	return context.WithValue(ctx, waitsKey{}, report)
}

// Waits reports what the request of ctx begins to wait for. Only a stand-in for a [Pool] has to call it.
func Waits(ctx context.Context, what Wait) {
	if report, ok := ctx.Value(waitsKey{}).(func(Wait)); ok {
		report(what)
	}
}
