// Package record writes the calls of a run to a file and answers the calls of another run from that file, so that a script can be tested
// without its servers. Start with [NewWriter] and [Read]. A [Mask] removes secrets and personal data from what is written.
//
// # The file
//
// JSON Lines. The first line is {"mcprun":"recording","version":1}; each other line is one [Entry], in the order in which the calls ended.
// People may read and edit the file.
package record

import (
	"encoding/json"

	"github.com/mcpgen/mcpgen/runner/call"
)

// version is the version of the format.
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
	// Tool is the tool id. For other requests it is the server's folder, two underscores, and the method: drive__resources/read.
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	// Raw reports that the script asked for the whole CallToolResult.
	Raw bool `json:"raw,omitempty"`
	// MS is how long the answer took, in milliseconds.
	MS float64 `json:"ms"`
	// Value is the answer, and As says how a script receives it. A call that failed has Error instead.
	Value json.RawMessage `json:"value,omitempty"`
	As    call.As         `json:"as,omitempty"`
	// Text reports whether the tool returned the value as JSON in a text block. Earlier versions wrote such entries; now Value is the text.
	Text  bool        `json:"text,omitempty"`
	Error *call.Error `json:"error,omitempty"`
}
