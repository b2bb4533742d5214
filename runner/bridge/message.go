package bridge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/call"
)

// maxID is the highest call id: beyond it JavaScript's numbers are no longer exact.
const maxID = 1<<53 - 1

// protocolVersion is the version spoken here.
const protocolVersion = 1

// maxTimeout bounds the time-out of a call, in milliseconds; it is the limit of JavaScript's timers.
const maxTimeout = 1<<31 - 1

// message is one frame from the guest: *hello, *callMsg, *cancel, *streamMsg or *done.
type message any

type hello struct {
	protocol        int64
	secret, runtime string
}

// callMsg is a call of a tool, or a request for something else.
type callMsg struct {
	id      int64
	request bool
	name    string // the tool's id, or the method
	args    json.RawMessage
	timeout time.Duration // zero if not given
	raw     bool
	at      string
	step    int // that makes it; 0: none
	seq     int // the position among all calls and requests, from 1; set when it is accepted
}

type cancel struct {
	id int64
}

// streamMsg is about a stream: open, data, shut, more or close.
type streamMsg struct {
	kind  string
	id    int64
	data  []byte
	bytes int64
}

type done struct {
	result json.RawMessage
	err    *ScriptError
	notes  map[string]int
	wrote  []string
}

// decode reads a frame from the guest. The returned message refers to the frame's bytes.
func decode(frame []byte) (message, error) {
	members, err := scanObject(frame)
	if err != nil {
		return nil, err
	}
	f := fields{members: members}
	var msg message
	switch kind := f.text("type"); kind {
	case "hello":
		msg = &hello{protocol: f.integer("protocol"), secret: f.text("secret"), runtime: f.text("runtime")}
	case "call":
		c := &callMsg{id: f.id("id"), name: f.text("tool"), args: f.value("args"), at: f.at(), step: f.step()}
		f.options(c)
		msg = c
	case "request":
		msg = &callMsg{id: f.id("id"), request: true, name: f.text("method"), args: f.value("params"), at: f.at(), step: f.step()}
	case "cancel":
		msg = &cancel{id: f.id("id")}
	case "open", "data", "shut", "more", "close":
		msg = f.stream(kind)
	case "done":
		msg = f.done()
	default:
		f.fail("frame of unknown type %.100q", kind)
	}
	return msg, f.finish()
}

// fields takes members out of a frame. It keeps the first error. A member that nothing took out is an error at the end.
type fields struct {
	members []member
	err     error
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) finish() error {
	if f.err == nil && len(f.members) > 0 {
		f.fail("unknown member %.100q", f.members[0].name)
	}
	return f.err
}

// optional takes a member out, or returns nil if there is none.
func (f *fields) optional(name string) json.RawMessage {
	for i, m := range f.members {
		if m.name == name {
			f.members = append(f.members[:i], f.members[i+1:]...)
			return m.value
		}
	}
	return nil
}

func (f *fields) value(name string) json.RawMessage {
	v := f.optional(name)
	if v == nil {
		f.fail("member %q is missing", name)
	}
	return v
}

func (f *fields) text(name string) string {
	var s string
	if v := f.value(name); v != nil {
		if v[0] != '"' || json.Unmarshal(v, &s) != nil {
			f.fail("member %q is not a string", name)
		}
	}
	return s
}

// maxAt bounds the line of a call, in bytes.
const maxAt = 300

// at takes out the line of a call or request, if it has one.
func (f *fields) at() string {
	if !slices.ContainsFunc(f.members, func(m member) bool { return m.name == "at" }) {
		return ""
	}
	return ident.Clip(f.text("at"), maxAt)
}

// step takes out the number of the step that makes a call or request, or 0 if it has none.
func (f *fields) step() int {
	raw := f.optional("step")
	if raw == nil {
		return 0
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		f.fail("step is not a number of a step")
	}
	return n
}

func (f *fields) integer(name string) int64 {
	n, err := strconv.ParseInt(string(f.value(name)), 10, 64)
	if err != nil {
		f.fail("member %q is not an integer", name)
	}
	return n
}

func (f *fields) id(name string) int64 {
	n := f.integer(name)
	if n < 1 || n > maxID {
		f.fail("call id %d is out of range", n)
	}
	return n
}

// options reads the options of a call.
func (f *fields) options(c *callMsg) {
	raw := f.optional("options")
	if raw == nil {
		return
	}
	o, ok := f.inner("options", raw)
	if !ok {
		return
	}
	if v := o.optional("timeoutMs"); v != nil {
		ms, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil || ms < 1 || ms > maxTimeout {
			o.fail("timeoutMs is not a number of milliseconds")
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	switch v := string(o.optional("raw")); v {
	case "", "false":
	case "true":
		c.raw = true
	default:
		o.fail("raw is neither true nor false")
	}
	f.close("options", o)
}

// stream reads a frame about a stream.
func (f *fields) stream(kind string) *streamMsg {
	m := &streamMsg{kind: kind, id: f.integer("stream")}
	if m.id < 1 || m.id > maxID {
		f.fail("stream %d is out of range", m.id)
	}
	switch kind {
	case "data":
		data, err := base64.StdEncoding.DecodeString(f.text("data"))
		if m.data = data; err != nil || len(data) == 0 || len(data) > maxData {
			f.fail("data is not 1 to %d bytes in base64", maxData)
		}
	case "more":
		if m.bytes = f.integer("bytes"); m.bytes < 1 || m.bytes > window {
			f.fail("more of %d bytes is out of range", m.bytes)
		}
	}
	return m
}

// inner opens a member that is an object. Its close ends the reading.
func (f *fields) inner(name string, raw json.RawMessage) (*fields, bool) {
	if raw[0] != '{' {
		f.fail("member %q is not an object", name)
		return nil, false
	}
	members, err := scanObject(raw)
	if err != nil {
		f.fail("member %q: %w", name, err)
		return nil, false
	}
	return &fields{members: members}, true
}

func (f *fields) close(name string, inner *fields) {
	if err := inner.finish(); err != nil {
		f.fail("member %q: %w", name, err)
	}
}

func (f *fields) done() *done {
	d := &done{result: f.optional("result")}
	if raw := f.optional("notes"); raw != nil && json.Unmarshal(raw, &d.notes) != nil {
		f.fail("member %q is not an object of counts", "notes")
	}
	if raw := f.optional("wrote"); raw != nil && json.Unmarshal(raw, &d.wrote) != nil {
		f.fail("member %q is not a list of paths", "wrote")
	}
	raw := f.optional("error")
	if raw == nil {
		return d
	}
	if d.result != nil {
		f.fail("done has both a result and an error")
	}
	if e, ok := f.inner("error", raw); ok {
		d.err = &ScriptError{Name: e.text("name"), Message: e.text("message"), Stack: e.text("stack")}
		f.close("error", e)
	}
	return d
}

// jobFrame encodes the job.
func jobFrame(job Job) ([]byte, error) {
	if job.Args == nil {
		job.Args = []string{}
	}
	return encode(struct {
		Type string `json:"type"`
		Job
	}{"job", job})
}

// encode is json.Marshal without its escaping for HTML, which makes code longer and nothing safer here.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// replyHead returns the beginning of a reply, up to its value or error; replyTail is its end.
func replyHead(id int64, name string, as call.As) []byte {
	b := make([]byte, 0, 64)
	b = append(b, `{"type":"reply","id":`...)
	b = strconv.AppendInt(b, id, 10)
	if as != call.AsValue {
		b = strconv.AppendQuote(append(b, `,"as":`...), string(as))
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":`...)
}

const replyTail = "}"

// errorValue encodes an error for a reply of at most max bytes. Content and data that are not JSON, or too large, are
// left out; the message says so.
func errorValue(e *call.Error, max int) []byte {
	raw, err := encode(e)
	if err == nil && len(raw) <= max && checkValue(raw) == nil {
		return raw
	}
	short := *e
	short.Content, short.Data = nil, nil
	short.Message = ident.Clip(e.Message, max/8)
	short.Tool, short.Server = ident.Clip(e.Tool, 256), ident.Clip(e.Server, 256)
	if e.Content != nil || e.Data != nil {
		short.Message += " (the details were left out: they are not valid JSON, or too large)"
	}
	raw, _ = encode(&short) // strings and an integer: cannot fail
	return raw
}
