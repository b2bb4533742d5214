package upstream

import (
	"context"

	"github.com/mcpgen/mcpgen/gen/upstream/httpclient"
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
