package upstream

import (
	"context"

	"github.com/mcpgen/mcpgen/gen/upstream/httpclient"
)

// CallOptions are the settings of one call. Nil, and every zero value, is valid.
type CallOptions struct {
	// Progress is called for each progress notification of the call, one at a time and never after the call has returned. If
	// notifications come too fast, some are dropped.
	Progress func(Progress)
	// Elicit answers the questions that the server asks a person during this call, several at the same time if the server
	// asks several. If it is nil, or [Options.Elicit] is not set, every question is declined.
	Elicit ElicitFunc
	// Declined is called with a reason for people when a question is declined without asking Elicit, or when Elicit's answer
	// is not sent or only in part, one at a time. The text quotes the server, so it is hostile, but bounded. Declined may be nil.
	Declined func(reason string)
	// Owner is any comparable value that identifies the caller, such as a run. In the older protocol era, a question that
	// does not come in a call's own stream is asked only if all calls in flight in the session have the same owner, and
	// declined otherwise. A [Pool] therefore gives each owner its own session then. A call with a nil Owner has an owner of
	// its own.
	Owner any
	// Reserve waits until there is memory for an answer of at least [LargeAnswer] bytes. It is called at most once for each
	// such answer. Over HTTP that is before the answer is read, with its size or, if the server does not give one,
	// [LargeGuess]; over pipes, after the answer has been read. An error ends the call. Nil reserves nothing.
	Reserve func(ctx context.Context, bytes int) error
	// Trace is for a trace of the call; it may be nil.
	Trace *Trace
	// Origin is set by [Pool.Call] and [Pool.ReadResource]; it may be nil. Each call needs its own.
	Origin *Origin
}

// Trace says what to tell the server about the trace that a call belongs to, and is told how the call was sent. Read it after the
// call has returned. Each call needs its own.
type Trace struct {
	// Meta are members for the _meta of each request of the call, such as traceparent (MCP 2026-07-28, basic).
	Meta map[string]string

	// The rest is of the last request, and empty if none was sent. Session and Protocol are hostile text.

	// Pipe says that the server is a process, which is written to by a pipe, and not over TCP.
	Pipe bool
	// Protocol is the agreed revision, and Session the id of an HTTP session, if there is one.
	Protocol, Session string
	// RequestID is the id of the JSON-RPC request.
	RequestID string
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
// more. Questions of one call come one at a time; questions of different calls may come concurrently.
type ElicitFunc func(ctx context.Context, q *Question) (*Reply, error)
