package upstreamtest

import (
	"encoding/json"
	"fmt"
)

const modernVersion = "2026-07-28"

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// peer is what the server can do to its client and itself while it answers.
type peer struct {
	// ask sends a request to the client and returns its result.
	ask func(method, params string) message
	// crash ends the server or the connection.
	crash func()
	// region is the Mcp-Param-Region header; overHTTP says whether there are headers at all.
	region   string
	overHTTP bool
	// gone is closed when the client is no longer interested.
	gone <-chan struct{}
	// notify sends a notification before the answer.
	notify func(method, params string)
	// tell sends a notification in the answer's stream, which stays open.
	tell func(method, params string)
}

// reply is the answer to one request: a result or an error, both as JSON, or neither for silence.
type reply struct{ result, err string }

func failure(code int, text string) reply {
	return reply{err: fmt.Sprintf(`{"code":%d,"message":%q}`, code, text)}
}

// message is the JSON-RPC message of a reply, empty for silence.
func (r reply) message(id json.RawMessage) string {
	switch {
	case r.err != "":
		return `{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + r.err + `}`
	case r.result != "":
		return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + r.result + `}`
	}
	return ""
}

// structured makes a result with structuredContent and the same as text.
func structured(value string) reply {
	text, _ := json.Marshal(value) // a string always marshals
	return reply{result: `{"resultType":"complete","content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + value + `}`}
}

func content(blocks string) reply {
	return reply{result: `{"resultType":"complete","content":[` + blocks + `]}`}
}
