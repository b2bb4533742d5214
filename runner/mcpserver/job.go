package mcpserver

import (
	"encoding/json"
	"io"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Client is the program that sent a request, as it describes itself. Both texts may be empty, and are hostile.
type Client struct{ Name, Version string }

// Job is a run that a client asked for.
type Job struct {
	Customer       *Customer
	Session        string // the client's session, as in Entry
	Client         Client
	Code, Language string
	Vars           map[string]json.RawMessage
	Timeout        time.Duration
	Memory         int64     // bytes
	Risk           risk.Risk // the least risk that the code is assumed to have
	Network        bool      // the client asks for the network
	// Stdout and Stderr receive output as it is printed.
	Stdout, Stderr io.Writer
	// Ask puts a server's question to the client's user. It is never nil, and declines if the client cannot ask.
	Ask upstream.ElicitFunc
	// CanAsk reports whether the client can show the user a form.
	CanAsk bool
	// Watch receives the events of calls.
	Watch func(chain.Event)
	// Image receives an image that the script shows. The error is the reason for refusing the image.
	Image func(mimeType string, data []byte) error
	// Work names the durable work that the run is, or may become. If it begins again in another process, calls that it has made must not be
	// made again. Empty: the run ends with this process.
	Work string
	// Ending is closed when the server is. Work has a moment then to end what it has begun, and should begin no call.
	Ending <-chan struct{}
}

// CallJob is one call without a script.
type CallJob struct {
	Customer *Customer
	Session  string // the client's session, as in Entry
	Client   Client
	Tool     string // the tool id, or the server's own name for it, as the client sent it
	Args     json.RawMessage
	Ask      upstream.ElicitFunc
	CanAsk   bool // as in Job
	Watch    func(chain.Event)
	Work     string          // as in Job
	Ending   <-chan struct{} // as in Job
}

// CallAnswer is the outcome of a CallJob.
type CallAnswer struct {
	// Raw is the CallToolResult as the server sent it, except for content that was saved as a file.
	Raw json.RawMessage
	// Warnings are warnings about the result.
	Warnings []string
	// Failed reports that the call did not succeed; Message is the reason, for a model. Raw may be empty then.
	Failed  bool
	Message string
	// Code is the code of the JSON-RPC error with which the tool's server answered; zero if it did not.
	Code int
	// Record describes the call for the customer's log.
	Record chain.CallRecord
}
