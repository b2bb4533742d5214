// Package bridge is the host's side of the one connection a guest has: framing, handshake, calls in and replies
// out, limits. Start with [Serve]. It trusts nothing that the guest says: a malformed, oversized, forged or
// flooding frame ends that connection with an error and affects nothing else. It decides nothing about a call:
// the handler does.
//
// # Protocol (version 1)
//
// A frame is a 4-byte big-endian length followed by that many bytes of one UTF-8 JSON object. Frames are at most
// 16 MiB, nested at most 512 deep. The guest's frames have no duplicate member at any depth, no unknown member and
// no unpaired surrogate. Each side sends frames in any order after the handshake.
//
//	guest → host  {"type":"hello","protocol":1,"secret":"…","runtime":"node 24.21.0"}
//	host → guest  {"type":"wait"}                       there is no job yet: the guest has time to prepare
//	host → guest  {"type":"job","language":"typescript","name":"script.ts","code":"…","args":["…"],"vars":{…},"modules":{…}}
//	guest → host  {"type":"call","id":1,"tool":"drive__get_document","args":{…}}
//	guest → host  {"type":"call","id":2,"tool":"…","args":{…},"options":{"timeoutMs":5000,"raw":true}}
//	guest → host  {"type":"call","id":2,"tool":"…","args":{…},"at":"script.ts:12"}    if the job has "lines":true
//	guest → host  {"type":"call","id":2,"tool":"…","args":{…},"step":4}    in a step; the host has given it that number
//	guest → host  {"type":"request","id":3,"method":"resources/read","params":{…}}
//	host → guest  {"type":"reply","id":1,"value":…}
//	host → guest  {"type":"reply","id":1,"as":"content","value":…}
//	host → guest  {"type":"reply","id":1,"error":{"kind":"tool","message":"…",…}}
//	guest → host  {"type":"cancel","id":1}
//	guest → host  {"type":"open","stream":1}            a program in the sandbox has connected to the run's proxy
//	either way    {"type":"data","stream":1,"data":"…"} what it or the proxy says, in base64, at most 64 KiB
//	either way    {"type":"more","stream":1,"bytes":65536}  so much was passed on, and may be sent again
//	guest → host  {"type":"shut","stream":1}            it says nothing more, but still listens
//	either way    {"type":"close","stream":1}           the connection has ended
//	guest → host  {"type":"done","result":…}            the script ended by itself; result is absent when it has none
//	guest → host  {"type":"done","error":{"name":"…","message":"…","stack":"…"}}    it ended by an uncaught error
//	…                                                     done may have "notes":{"…":n} and "wrote":["…"], see Outcome
//	host → guest  {"type":"bye"}                        the answer to done: the guest may exit
//
// hello must be the first frame, within the handshake time and at most 4 KiB; a wrong secret or version ends the
// connection without an answer. wait comes at most once, to guests that are started ahead of their run. A request asks
// for something other than a tool call; it is answered, cancelled and bounded as a call is. Ids of calls and requests are
// one sequence: positive, below 2^53, each higher than the one before.
//
// The options of a call are optional, and so is each of them. timeoutMs is how long the script waits once the
// call is in flight, from 1 to 2^31-1; raw asks for the whole CallToolResult. The host decides about both. at is the line of
// the script that made the call or request; it is left out if none is known. step is the step whose function makes it; outside of steps it is left out.
//
// Members of a reply come in the order shown, without white space between them, so that a guest may find the id
// without parsing the value. "as" says what a guest makes of the value, see [call.As]; without it the value is plain
// JSON. A cancelled call gets no reply, but one may already be on its way: guests skip replies to ids they
// no longer wait for. Nothing follows done.
//
// Streams are there only in runs with a network; their ids are a sequence of their own. At most 64 are open at once; the host closes
// further ones. In each direction at most 256 KiB of a stream are on their way; more says that as many bytes were passed on. A frame about a
// stream that the other end has closed is ignored.
//
// A guest has at most 128 calls and requests, with 32 MiB of arguments, in flight and holds further ones back
// itself; the host ends a guest that has twice as many. The host reads more slowly from a guest that sends frames too
// fast. All frames of a run together are at most 16 GiB. A guest whose connection is lost ends itself.
//
// # Compatibility
//
// The version covers the frames, their members and their limits. Host and guest are always of one release: the host hands its guest
// programs to every sandbox, and an image brings interpreters only. So a version speaks with itself alone, hello is refused with any
// other, and members may be added without a new version if both sides change together. Nothing else may speak this protocol; programs
// that want to call tools use mcprun call, or mcprun serve over MCP.
package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
)

// Job is the script that a guest runs, with its inputs.
type Job struct {
	Language string   `json:"language"` // "typescript" (one ES module) or "python"
	Name     string   `json:"name"`     // the script's file name, for stack traces and as the first argument
	Code     string   `json:"code"`
	Args     []string `json:"args"` // the arguments after the name
	// Vars become variables of the script; the values are JSON.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
	// Modules are the code of Python files beside the script, by their paths relative to it, with slashes.
	Modules map[string]string `json:"modules,omitempty"`
	// Restricted makes a Python guest hide eval, exec and compile from the script.
	Restricted bool `json:"restricted,omitempty"`
	// Env are variables that the guest adds to its environment. Runs with a network have some.
	Env map[string]string `json:"env,omitempty"`
	// Lines asks the guest to send the line of the script that makes each call.
	Lines bool `json:"lines,omitempty"`
}

// Options configure [Serve]. Secret, Job and Handler are required.
type Options struct {
	// Secret must be in the guest's hello.
	Secret string
	Job    Job
	// Handler answers calls; it is called from many goroutines. Its context ends when the guest cancels the call, says done or is lost.
	// Handler must then return soon, because Serve waits for it.
	Handler call.Handler
	// Answers answers requests, as Handler answers calls. Nil: every request is refused.
	Answers call.Answerer
	// Connect takes over the host's end of each stream: a connection of a program in the sandbox to the proxy of its run. It must return at
	// once, and close the connection some time. Nil: there is no network, and a stream ends the connection.
	Connect func(net.Conn)
	// Logger receives internal errors of the handler, which a script must not see. Nil: discarded.
	Logger *slog.Logger
	// Started is called once, after the job was sent to the guest. It may be nil.
	Started func()
	// HandshakeTimeout bounds the time until hello has arrived. Zero: 10 s.
	HandshakeTimeout time.Duration
	// MaxParallel is the maximum number of calls and requests that are handled at once; further ones wait. Zero: 64.
	MaxParallel int

	// Limits, with defaults for zero. Only tests set them.

	// maxFrame is the size of the largest frame in bytes, in both directions. Zero: 16 MiB, which is the limit that
	// guests know.
	maxFrame int
	// maxInFlight is the maximum number of calls and requests without a reply; one more ends the connection. Zero: 256.
	maxInFlight int
	// maxPending is the maximum size, in bytes, of calls and requests without a reply; more end the connection. Zero: 64 MiB.
	maxPending int
	// maxUnread is the maximum size, in bytes, of answers that the guest has not read. Beyond that, an answer is replaced by an error. A
	// single answer may have any size. Zero: 256 MiB.
	maxUnread int
	// maxTotal is the maximum number of bytes that cross the connection, both directions together; more end it. Zero: 16 GiB.
	maxTotal int64
	// maxRate is the maximum number of frames that are read from a guest per second, and also the size of a burst. Further frames wait in the
	// connection. Zero: 20,000.
	maxRate int
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Secret == "":
		return o, errors.New("bridge: no secret")
	case o.Handler == nil:
		return o, errors.New("bridge: no handler")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.HandshakeTimeout = orDefault(o.HandshakeTimeout, 10*time.Second)
	o.maxFrame = orDefault(o.maxFrame, 16<<20)
	o.maxInFlight = orDefault(o.maxInFlight, 256)
	o.maxPending = orDefault(o.maxPending, 64<<20)
	o.maxUnread = orDefault(o.maxUnread, 256<<20)
	o.maxTotal = orDefault(o.maxTotal, 16<<30)
	o.MaxParallel = orDefault(o.MaxParallel, 64)
	o.maxRate = orDefault(o.maxRate, 20_000)
	return o, nil
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Outcome is what the guest reported about its script. Nothing in it has been verified.
type Outcome struct {
	// Runtime is the guest's description of its interpreter; empty when the handshake was not completed.
	Runtime string
	// Started reports whether the job was sent to the guest.
	Started bool
	// Done reports whether the guest said that the script had ended. An interpreter that was killed, or that called
	// exit, says nothing.
	Done bool
	// Result is the script's result as JSON; nil when it has none.
	Result json.RawMessage
	// Error is the uncaught error that ended the script; nil when there was none.
	Error *ScriptError
	// Notes count likely mistakes that the guest noticed: "unawaited TOOL" is a call that nothing waits for; "open TOOL" is a call whose
	// answer came after the script's last output; "text TOOL" is text used as if it were the JSON inside it.
	Notes map[string]int
	// Wrote lists paths, relative to the workspace, that the guest saw the script write: files, and folders that it renamed or copied.
	// Writes by programs that the script started are not seen.
	Wrote []string
	// Calls counts the tool calls that were accepted.
	Calls int
}

// ScriptError is an error that ended a script.
type ScriptError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"` // as printed by the guest; may be empty
}

func (e *ScriptError) Error() string {
	if e.Message == "" {
		return e.Name
	}
	return fmt.Sprintf("%s: %s", e.Name, e.Message)
}

// ErrClosed is returned by [Serve] when the connection ended before the guest said done. The exit of its process then
// tells how the script ended.
var ErrClosed = errors.New("the guest closed its connection before its script ended")

// ErrHandshake is returned by [Serve], wrapped, when the guest did not authenticate itself: no hello in time, a wrong secret, or another
// protocol version.
var ErrHandshake = errors.New("bridge handshake")

// ViolationError is returned by [Serve] when the guest broke the protocol or one of its limits.
type ViolationError struct {
	Reason string
}

func (e *ViolationError) Error() string { return "the guest broke the bridge protocol: " + e.Reason }

func violation(format string, args ...any) error {
	return &ViolationError{Reason: fmt.Sprintf(format, args...)}
}
