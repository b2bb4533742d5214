// Package wire reads and writes the bytes of messages where go-sdk does not help: it classifies the body of an HTTP request without a
// session, and handles standard output that a client does not read.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Opening is the kind of a POST body without a session id.
type Opening int

const (
	// OpenNothing is a request that needs a session.
	OpenNothing Opening = iota
	// OpenSession begins a session, or is malformed, which go-sdk reports.
	OpenSession
	// OpenStateless names its revision in the body: it needs no session.
	OpenStateless
)

// OpeningOf classifies the body of a request that has no session id.
func OpeningOf(body []byte) Opening {
	type message struct {
		Method string `json:"method"`
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	var messages []message
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if json.Unmarshal(body, &messages) != nil {
			return OpenSession
		}
	} else {
		var one message
		err := json.Unmarshal(body, &one)
		if wrongType := (*json.UnmarshalTypeError)(nil); err != nil && (!errors.As(err, &wrongType) || one.Method == "") {
			return OpenSession
		}
		messages = append(messages, one)
	}
	opening := OpenNothing
	if len(messages) == 0 {
		opening = OpenSession
	}
	for _, m := range messages {
		if m.Method == "initialize" {
			return OpenSession
		}
		if m.Params.Meta[mcp.MetaKeyProtocolVersion] != nil {
			opening = OpenStateless
		}
	}
	return opening
}
