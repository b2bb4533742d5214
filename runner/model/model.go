// Package model asks language models: Anthropic, OpenAI and compatible ones, and Azure OpenAI. Start with [New].
//
// A model is hostile: what it writes is text, and nothing of it is carried out here. Keys are sent to the endpoint alone, and appear in no error.
package model

import "context"

// Client asks one model. It is safe for concurrent use.
type Client interface {
	// Name describes endpoint and model for people and records, such as "anthropic claude-sonnet-5". It holds no key.
	Name() string
	// Generate sends one request and returns the whole answer. Errors that are worth a retry were retried.
	Generate(ctx context.Context, r *Request) (*Response, error)
}

// Request is a conversation that the model continues.
type Request struct {
	// System are the instructions.
	System string
	// Messages alternate, and the first and the last are the user's.
	Messages []Message
	// MaxTokens bounds the answer. Zero: 8,192.
	MaxTokens int
	// Stream is called with the parts of the answer as they come. Nil: the answer is not streamed.
	Stream func(text string)
}

// Role says who wrote a message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is a message of a conversation.
type Message struct {
	Role Role
	Text string
}

// Stop is why an answer ended.
type Stop string

// Reasons for the end of an answer.
const (
	StopEnd     Stop = "end"     // the model had said all
	StopLength  Stop = "length"  // MaxTokens
	StopRefusal Stop = "refusal" // the model or a filter of the endpoint refused
)

// Response is the answer of a model.
type Response struct {
	Text  string
	Model string // as the endpoint names the model that answered
	Stop  Stop
	Usage Usage
}

// Usage is what answers cost.
type Usage struct {
	Input  int64 `json:"input"`  // tokens read
	Output int64 `json:"output"` // tokens written
	// Cost is in US dollars; 0, and absent in JSON, if the price of the model is unknown.
	Cost float64 `json:"cost,omitzero"`
}
