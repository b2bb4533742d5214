package upstream

import (
	"context"
	"encoding/json"
)

// CallOptions are what one call brings along. Nil, and every zero value, is valid.
type CallOptions struct {
	// Progress is told what the server says of the call's progress, one at a time and never after the call has returned.
	// A flood of it is thinned out.
	Progress func(Progress)
	// Elicit answers what the server asks a person because of this call. Nil, or a pool without [Options.Elicit]: every
	// question is declined.
	Elicit ElicitFunc
	// Unasked is told, for people, why a question of the call was declined before Elicit saw it, and why an answer of Elicit
	// was not sent. Parts of it are the server's: hostile, and bounded. Nil: nobody is told.
	Unasked func(reason string)
	// Owner is whose call it is, such as a run; any comparable value. In the older protocol era a question does not say
	// which call it belongs to: it is put when all calls under way at that session have one owner, and declined
	// otherwise. Nil: the call has an owner of its own.
	Owner any
	// Land waits until there is room for an answer of at least [LargeAnswer] bytes, and is called at most once for each
	// message of the server that is so large: over HTTP before it is read, with the size that the server says or, where it
	// says none, [LargeGuess]; over pipes once it is there. An error of it ends the call. Nil: nobody waits.
	Land func(ctx context.Context, bytes int) error
}

// LargeAnswer is from how many bytes on an answer is large, LargeGuess what one of unknown size is taken for.
const (
	LargeAnswer = 1 << 20
	LargeGuess  = 16 << 20
)

// Progress is one notification of progress (MCP 2025-06-18, basic/utilities/progress).
type Progress struct {
	Progress float64
	Total    float64 // 0: not said
	Message  string  // hostile; may be empty; at most 1 KiB, without control characters
}

// ElicitFunc answers a question. An error counts as cancelled by the person. ctx ends when nobody waits for the answer
// any more. Questions of one call come one at a time, those of several calls may not.
type ElicitFunc func(ctx context.Context, q *Question) (*Reply, error)

// Question is what a server asks a person (MCP 2025-11-25, client/elicitation). All of it is hostile text; a form's schema
// was checked to be a flat object of primitive properties.
type Question struct {
	// Server is the configured server that asks.
	Server  string
	Message string
	// Schema is that of the form; nil in URL mode.
	Schema json.RawMessage
	// Fields are the form's, in its order; see [Question.Check] for what may be filled in.
	Fields []Field
	// URL is the page that the person is asked to visit, http or https; empty for a form. Nothing may be fetched from it
	// unasked.
	URL string
}

// Actions of a Reply.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// Reply is a person's answer.
type Reply struct {
	Action string
	// Content is the filled-in form, an object that fits the schema; nil unless accepted. What is missing and has a
	// default gets it. Content that does not fit is not sent: the question then counts as cancelled.
	Content json.RawMessage
}
