// Package record writes the calls of a run to a file and answers the calls of another run from it, so that a script can
// be tested without its servers. Start with [NewWriter] and [Read]. What it writes goes through a mask that takes secrets
// and personal data out; see [Mask].
//
// # The file
//
// JSON Lines. The first line is {"mcprun":"recording","version":1}; each other is one [Entry], in the order in which the
// calls ended. It is meant to be read, and changed, by people too.
package record

import (
	"encoding/json"

	"github.com/mcpgen/mcpgen/runner/call"
)

// version is that of the file's form.
const version = 1

// header is the first line of a file.
type header struct {
	Kind    string `json:"mcprun"`
	Version int    `json:"version"`
}

const kind = "recording"

// Entry is one call and its answer.
type Entry struct {
	// Call is the number of the call in its run, from 1.
	Call int `json:"call"`
	// Tool is the tool id; for what is no tool call it is the server's folder, a colon, and the method: drive:resources/read.
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	// Raw says that the whole CallToolResult was asked for.
	Raw bool `json:"raw,omitempty"`
	// MS is how long the answer took, in milliseconds.
	MS float64 `json:"ms"`
	// Value is the answer, As what a script makes of it; Error is there instead where the call failed.
	Value json.RawMessage `json:"value,omitempty"`
	As    call.As         `json:"as,omitempty"`
	// Text says that the tool answered with the value as JSON in a text.
	Text  bool        `json:"text,omitempty"`
	Error *call.Error `json:"error,omitempty"`
}
