package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// ToolError is the error.type of a tool's result with isError.
const ToolError = "tool_error"

// ServerKey is the attribute that names a server as it is configured; the conventions have none.
const ServerKey = attribute.Key("mcprun.server")

// maxText bounds an attribute whose text comes from a peer, in bytes.
const maxText = 100

// Request is what is known of a request when it begins.
type Request struct {
	// Method is a method of MCP.
	Method string
	// Tool is the name of a tool that is known here, as its server names it. Empty: none, or an unknown one.
	Tool string
	// Server is the server's configured name. Empty for a request that this program answers.
	Server string
}

// Outcome is how a request ended. All fields may be empty.
type Outcome struct {
	// Connection is what the request was sent over.
	Connection
	// Session and RequestID are those of MCP and JSON-RPC, RequestID as text. They may be hostile.
	Session, RequestID string
	// Resource is the URI of a resource that is known here, if one was asked for.
	Resource string
	// Error is the class of the failure: [ToolError], or one of a small number of words. Empty: the request succeeded.
	Error string
	// Code is the code of a JSON-RPC error, or 0.
	Code int
}

// Connection is what a session or request uses.
type Connection struct {
	// Pipe and TCP say which transport it is; neither, if that is unknown.
	Pipe, TCP bool
	// Protocol is the revision of MCP. It may be hostile.
	Protocol string
}

// attributes returns what is known of the connection.
func (c *Connection) attributes() []attribute.KeyValue {
	var out []attribute.KeyValue
	switch {
	case c.Pipe:
		out = append(out, semconv.NetworkTransportPipe)
	case c.TCP:
		out = append(out, semconv.NetworkTransportTCP)
	}
	if c.Protocol != "" {
		out = append(out, semconv.McpProtocolVersion(foreign(c.Protocol)))
	}
	return out
}

func foreign(text string) string { return ident.Clip(ident.CleanLine(text), maxText) }

// Operation is a request in progress. Nil records nothing.
type Operation struct {
	t      *Telemetry
	ctx    context.Context
	span   trace.Span
	began  time.Time
	server bool // this program answers it
	method string
	known  []attribute.KeyValue // of the span and the metric
}

// Client begins a request to a server. The span's parent is the one of ctx; the returned context has the span.
func (t *Telemetry) Client(ctx context.Context, r Request) (context.Context, *Operation) {
	if t == nil {
		return ctx, nil
	}
	return t.begin(ctx, r, trace.SpanKindClient)
}

// Serve begins a request that this program answers. Its client may name the span's parent in the request's _meta, which is hostile.
func (t *Telemetry) Serve(ctx context.Context, r Request, meta map[string]any) (context.Context, *Operation) {
	if t == nil {
		return ctx, nil
	}
	return t.begin(propagation.TraceContext{}.Extract(ctx, metaCarrier(meta)), r, trace.SpanKindServer)
}

func (t *Telemetry) begin(ctx context.Context, r Request, kind trace.SpanKind) (context.Context, *Operation) {
	op := &Operation{t: t, began: time.Now(), server: kind == trace.SpanKindServer, method: r.Method}
	name := r.Method
	if r.Tool != "" {
		name += " " + r.Tool
		op.known = append(op.known, semconv.GenAIToolName(r.Tool))
	}
	if r.Method == string(mcpconv.MethodNameToolsCall) {
		op.known = append(op.known, semconv.GenAIOperationNameExecuteTool)
	}
	if r.Server != "" {
		op.known = append(op.known, ServerKey.String(r.Server))
	}
	op.ctx, op.span = t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(op.began),
		trace.WithAttributes(semconv.McpMethodNameKey.String(r.Method)), trace.WithAttributes(op.known...))
	return op.ctx, op
}

// Meta returns the members of the request's _meta that name this span: traceparent, and tracestate if there is one (W3C Trace Context).
func (op *Operation) Meta() map[string]string {
	if op == nil {
		return nil
	}
	out := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(op.ctx, out)
	return out
}

// End ends the request.
func (op *Operation) End(o Outcome) {
	if op == nil {
		return
	}
	took := time.Since(op.began)
	both := append(op.known[:len(op.known):len(op.known)], o.attributes()...)
	if o.Code != 0 {
		code := strconv.Itoa(o.Code)
		both = append(both, semconv.RPCResponseStatusCode(code))
		if o.Error != "" {
			o.Error = code
		}
	}
	if o.Error != "" {
		both = append(both, semconv.ErrorTypeKey.String(o.Error))
		op.span.SetStatus(codes.Error, "")
	}
	if op.span.IsRecording() {
		op.span.SetAttributes(both...)
		if o.Session != "" {
			op.span.SetAttributes(semconv.McpSessionID(foreign(o.Session)))
		}
		if o.RequestID != "" {
			op.span.SetAttributes(semconv.JSONRPCRequestID(foreign(o.RequestID)))
		}
		if o.Resource != "" {
			op.span.SetAttributes(semconv.McpResourceURI(foreign(o.Resource)))
		}
	}
	op.span.End(trace.WithTimestamp(op.began.Add(took)))
	if method := mcpconv.MethodNameAttr(op.method); op.server {
		op.t.serverOperation.Record(op.ctx, took.Seconds(), method, both...)
	} else {
		op.t.clientOperation.Record(op.ctx, took.Seconds(), method, both...)
	}
}

// SessionEnded records the end of a session at a server, over a pipe or over TCP. lost says that the connection was lost.
func (t *Telemetry) SessionEnded(server string, pipe bool, protocol string, lasted time.Duration, lost bool) {
	if t != nil {
		about := ended(Connection{Pipe: pipe, TCP: !pipe, Protocol: protocol}, lost)
		t.clientSession.Record(context.Background(), lasted.Seconds(), append(about, ServerKey.String(server))...)
	}
}

// ServerSession records the end of a session of a client of this program.
func (t *Telemetry) ServerSession(lasted time.Duration, c Connection, lost bool) {
	if t != nil {
		t.serverSession.Record(context.Background(), lasted.Seconds(), ended(c, lost)...)
	}
}

func ended(c Connection, lost bool) []attribute.KeyValue {
	out := c.attributes()
	if lost {
		out = append(out, semconv.ErrorTypeKey.String("connection"))
	}
	return out
}

// metaCarrier reads a request's _meta.
type metaCarrier map[string]any

// maxMeta bounds a member that is read, in bytes. A tracestate has at most 32 members, and 512 bytes must be passed on (W3C Trace Context).
const maxMeta = 8 << 10

// Get implements [propagation.TextMapCarrier].
func (m metaCarrier) Get(key string) string {
	if text, ok := m[key].(string); ok && len(text) <= maxMeta {
		return text
	}
	return ""
}

// Set implements [propagation.TextMapCarrier]; nothing is written.
func (metaCarrier) Set(string, string) {}

// Keys implements [propagation.TextMapCarrier].
func (metaCarrier) Keys() []string { return nil }
