package upstream

import (
	"context"
	"encoding/json"
)

// CallOptions are what one call brings along. Nil, and every zero value, is valid.
type CallOptions struct {
	// Progress is told what the server says of the call's progress, one at a time. It must return soon.
	Progress func(Progress)
	// Elicit answers what the server asks a person because of this call. Nil: every question is declined.
	Elicit ElicitFunc
}

// Progress is one notification of progress (MCP 2025-06-18, basic/utilities/progress).
type Progress struct {
	Progress float64
	Total    float64 // 0: not said
	Message  string  // hostile; may be empty
}

// ElicitFunc answers a question. An error counts as cancelled by the person.
type ElicitFunc func(ctx context.Context, q *Question) (*Reply, error)

// Question is what a server asks a person (MCP 2025-11-25, client/elicitation). All of it is hostile text; a form's schema
// was checked to be a flat object of primitive properties.
type Question struct {
	// Server is the configured server that asks.
	Server  string
	Message string
	// Schema is that of the form; nil in URL mode.
	Schema json.RawMessage
	// URL is the page that the person is asked to visit; empty for a form. Nothing may be fetched from it unasked.
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
	// Content is the filled-in form, an object that fits the schema; nil unless accepted.
	Content json.RawMessage
}
