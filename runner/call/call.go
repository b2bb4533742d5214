// Package call has the types of one tool call on its way from a script to an upstream: the [Request], the [Result] or [Error], and
// the [Handler] that turns one into the other. It contains no logic.
package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
)

// Request is one call as the script made it.
type Request struct {
	// Tool is the tool id as the script sent it: server__tool. Hostile until the lock has confirmed it.
	Tool string
	// Server and Name are the configured server and the tool's own name. The stage that looks the id up fills them in.
	Server, Name string
	// Args is one JSON object, byte for byte as the script sent it.
	Args json.RawMessage
	// Seq is the number of the call in its run, from 1, in the order in which the script made them, counting asks too. Zero: unknown.
	Seq int
	// Timeout is how long the script waits for the result once the call has left the queue, including the start of the server and all
	// tries. Zero: not given.
	Timeout time.Duration
	// Raw asks for the whole CallToolResult as the value, errors of the tool included.
	Raw bool
	// At is the line of the script that made the call, as "script.ts:12", or empty if it is unknown. It is hostile.
	At string
	// Step is the number that the host gave the step whose function makes the call, as the guest says. Zero: none.
	Step int
}

// Ask is a script's request to the host other than a tool call: for a module, a resource or a prompt.
type Ask struct {
	Method string          // hostile
	Params json.RawMessage // one JSON object, byte for byte as the guest sent it
	// Seq is the number among the calls and asks of its run, from 1, in the order in which the script made them.
	Seq  int
	At   string // as in Request
	Step int    // as in Request
}

// Answerer answers an Ask with a JSON value. Errors of type *Error are shown to the script; any other is reported to it without details.
type Answerer func(ctx context.Context, ask *Ask) (json.RawMessage, error)

// As says how a guest presents a value to the script.
type As string

const (
	AsValue   As = ""        // the JSON value
	AsContent As = "content" // a list of MCP content blocks, whose data can be saved
	AsHandle  As = "handle"  // {"path","size","type","preview"}: a result in a file
	AsJSON    As = "json"    // a JSON string containing an object or array: presented as that value, or as the text where a text is expected
	AsMembers As = "members" // the JSON value; the Python guest also notes which members the script asks for with get that the value lacks
	AsText    As = "text"    // a JSON string: the text of a tool without an output schema
	AsDry     As = "dry"     // {"call":n}: a placeholder for the result of a call that was not made
)

// Result is the answer of a tool.
type Result struct {
	// Value is what the script's call returns: structuredContent, else a single text as a JSON string, else the
	// list of content blocks. Numbers are the upstream's own digits.
	Value json.RawMessage
	// As says how the guest presents Value to the script.
	As As
	// Raw is the whole CallToolResult as the upstream sent it.
	Raw json.RawMessage
	// Structured reports whether Value is the structuredContent of the result.
	Structured bool
}

// HoldsJSON reports whether a text is a JSON object or array, which most tools without an output schema return as text.
func HoldsJSON(text string) bool {
	raw := bytes.TrimSpace([]byte(text))
	return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') && json.Valid(raw)
}

// Handler answers a call. Errors of type *Error are shown to the script; any other is reported to it without details.
type Handler func(ctx context.Context, req *Request) (*Result, error)

// Kind is the kind of an error. Both client libraries have an exception type for each of the first six.
type Kind string

const (
	KindTool       Kind = "tool"       // the tool ran and returned isError
	KindProtocol   Kind = "protocol"   // the upstream answered with a JSON-RPC error, or broke MCP
	KindArgument   Kind = "argument"   // refused by the host: unknown tool, or arguments that do not match its schema
	KindDenied     Kind = "denied"     // refused by policy or a person
	KindTimeout    Kind = "timeout"    // no answer in time
	KindConnection Kind = "connection" // the upstream could not be reached, or went away
	KindUnknown    Kind = "unknown"    // a crash cut the call off: it may have been made, and is not repeated; see [UnknownError]
	KindCancelled  Kind = "cancelled"  // the run ended first
	KindInternal   Kind = "internal"   // a fault of the host
)

// ExitCode returns the exit code of a command whose only call failed in this way: the code of a run that took too long or was refused, or
// otherwise for any other kind.
func (k Kind) ExitCode(otherwise int) int {
	switch k {
	case KindTimeout:
		return exit.Timeout
	case KindDenied:
		return exit.Refused
	}
	return otherwise
}

// Error is a failed call, in the form that crosses the bridge.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Server  string `json:"server,omitempty"`
	Tool    string `json:"tool,omitempty"` // the tool id
	// Content is the content list of a tool error.
	Content json.RawMessage `json:"content,omitempty"`
	// Code and Data are those of a JSON-RPC error.
	Code int             `json:"code,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	// Retryable reports whether the same call may succeed later and retrying repeats no effect, because the call was not sent or the tool
	// is trusted to be idempotent.
	Retryable bool `json:"retryable,omitempty"`
	// Cause is the underlying error, for the host. It never crosses the bridge.
	Cause error `json:"-"`
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) Error() string {
	if e.Tool == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: %s", e.Tool, e.Message)
}
