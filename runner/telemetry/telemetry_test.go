package telemetry_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/mcpgen/mcpgen/runner/telemetry"
	"github.com/mcpgen/mcpgen/runner/telemetry/telemetrytest"
)

// variables is a lookup.
type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

func start(t *testing.T, vars variables) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(telemetry.Options{Lookup: vars.lookup, Version: "1.2", Failed: func(err error) { t.Errorf("Failed(%v)", err) }})
	if err != nil || tel == nil {
		t.Fatalf("New() = %v, %v, want a Telemetry", tel, err)
	}
	return tel
}

// wantAttributes compares all attributes. The keys are those of the conventions' package, so that no other name passes.
func wantAttributes(t *testing.T, what string, got map[string]any, want ...attribute.KeyValue) {
	t.Helper()
	all := map[string]any{}
	for _, kv := range want {
		all[string(kv.Key)] = kv.Value.AsInterface()
	}
	if fmt.Sprint(got) != fmt.Sprint(all) { // maps are printed in the order of their keys
		t.Errorf("%s has the attributes %v, want %v", what, got, all)
	}
}

func TestSpansAndMetrics(t *testing.T) {
	c := telemetrytest.New(t)
	tel := start(t, variables{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%2Cb,y=2", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test"})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx, served := tel.Serve(t.Context(), telemetry.Request{Method: "tools/call", Tool: "execute_code"}, map[string]any{"traceparent": parent, "tracestate": "a=1", "other": 7})
	ctx, run := tel.Run(ctx)
	_, op := tel.Client(ctx, telemetry.Request{Method: "tools/call", Tool: "add", Server: "calculator"})
	meta := op.Meta()
	op.End(telemetry.Outcome{Connection: telemetry.Connection{Pipe: true, Protocol: "2026-07-28"}, RequestID: "7", Error: telemetry.ToolError})
	run.End(telemetry.RunOutcome{Language: "python", Sandbox: "gvisor", Risk: "high", Calls: 3, Cached: 2})
	served.End(telemetry.Outcome{Connection: telemetry.Connection{TCP: true}, Session: "s1", Error: "protocol", Code: -32602})
	tel.SessionEnded("calculator", true, "", 3*time.Second, true)
	tel.ServerSession(4*time.Second, telemetry.Connection{TCP: true, Protocol: "2025-11-25"}, false)
	tel.Close()

	about, headers := c.Resource()
	for name, want := range map[string]any{"service.name": "mcprun", "service.version": "1.2", "deployment.environment.name": "test", "telemetry.sdk.language": "go"} {
		if about[name] != want {
			t.Errorf("the resource has %s = %v, want %v", name, about[name], want)
		}
	}
	if headers.Get("X-Key") != "a,b" || headers.Get("Y") != "2" || headers.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("the collector got the headers %v, want those of OTEL_EXPORTER_OTLP_HEADERS, and protobuf", headers)
	}

	server, client, middle := c.Span(t, "tools/call execute_code"), c.Span(t, "tools/call add"), c.Span(t, telemetry.RunSpan)
	trace := hex.EncodeToString(server.TraceId)
	if !strings.Contains(parent, trace+"-"+hex.EncodeToString(server.ParentSpanId)) || server.TraceState != "a=1" {
		t.Errorf("the span of the request is %s below %x, state %q, want %s and a=1", trace, server.ParentSpanId, server.TraceState, parent)
	}
	if string(middle.ParentSpanId) != string(server.SpanId) || string(client.ParentSpanId) != string(middle.SpanId) {
		t.Error("the spans are not below each other: request, run, call")
	}
	if want := fmt.Sprintf("00-%s-%x-01", trace, client.SpanId); meta["traceparent"] != want || meta["tracestate"] != "a=1" || len(meta) != 2 {
		t.Errorf("Meta() = %v, want traceparent %s and tracestate a=1", meta, want)
	}
	for s, want := range map[*spans.Span]spans.Span_SpanKind{server: spans.Span_SPAN_KIND_SERVER, client: spans.Span_SPAN_KIND_CLIENT, middle: spans.Span_SPAN_KIND_INTERNAL} {
		if s.Kind != want {
			t.Errorf("%s has the kind %v, want %v", s.Name, s.Kind, want)
		}
	}
	if client.Status.GetCode() != spans.Status_STATUS_CODE_ERROR || middle.Status.GetCode() != spans.Status_STATUS_CODE_UNSET {
		t.Errorf("the call has the status %v, the run %v, want an error and none", client.Status, middle.Status)
	}
	tool := []attribute.KeyValue{semconv.McpMethodNameToolsCall, semconv.GenAIToolName("add"), semconv.GenAIOperationNameExecuteTool, telemetry.ServerKey.String("calculator"),
		semconv.NetworkTransportPipe, semconv.McpProtocolVersion("2026-07-28"), semconv.ErrorTypeKey.String("tool_error")}
	wantAttributes(t, "the call", telemetrytest.Attributes(client.Attributes), append(slices.Clone(tool), semconv.JSONRPCRequestID("7"))...)
	answered := []attribute.KeyValue{semconv.McpMethodNameToolsCall, semconv.GenAIToolName("execute_code"), semconv.GenAIOperationNameExecuteTool, semconv.NetworkTransportTCP,
		semconv.RPCResponseStatusCode("-32602"), semconv.ErrorTypeKey.String("-32602")}
	wantAttributes(t, "the request", telemetrytest.Attributes(server.Attributes), append(slices.Clone(answered), semconv.McpSessionID("s1"))...)
	ran := []attribute.KeyValue{telemetry.RunLanguageKey.String("python"), telemetry.RunSandboxKey.String("gvisor"), telemetry.RunRiskKey.String("high")}
	wantAttributes(t, "the run", telemetrytest.Attributes(middle.Attributes), append(slices.Clone(ran), telemetry.RunSuccessKey.Bool(true), telemetry.RunCallsKey.Int(3), telemetry.RunCachedKey.Int(2))...)
	if len(middle.Events) != 1 || middle.Events[0].Name != "code_execution" {
		t.Fatalf("the run has the events %v, want code_execution", middle.Events)
	}
	event := telemetrytest.Attributes(middle.Events[0].Attributes)
	took := float64(middle.EndTimeUnixNano-middle.StartTimeUnixNano) / 1e9
	wantAttributes(t, "the event", event, telemetry.RunRiskKey.String("high"), telemetry.RunSuccessKey.Bool(true), telemetry.RunSecondsKey.Float64(took))

	for name, want := range map[string][]attribute.KeyValue{
		mcpconv.ClientOperationDuration{}.Name(): tool,
		mcpconv.ServerOperationDuration{}.Name(): answered,
		mcpconv.ClientSessionDuration{}.Name():   {semconv.NetworkTransportPipe, semconv.ErrorTypeKey.String("connection"), telemetry.ServerKey.String("calculator")},
		mcpconv.ServerSessionDuration{}.Name():   {semconv.NetworkTransportTCP, semconv.McpProtocolVersion("2025-11-25")},
		telemetry.RunDuration:                    ran,
	} {
		point, m := c.Histogram(t, name)
		wantAttributes(t, name, telemetrytest.Attributes(point.Attributes), want...)
		if m.Unit != "s" || point.Count != 1 || fmt.Sprint(point.ExplicitBounds) != "[0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30 60 120 300]" {
			t.Errorf("%s: unit %q, %d values, buckets %v", name, m.Unit, point.Count, point.ExplicitBounds)
		}
	}
}

// TestOff: without an endpoint nothing exists, and what is nil does nothing and allocates nothing.
func TestOff(t *testing.T) {
	for _, vars := range []variables{
		{}, {"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "  "},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
	} {
		if tel, err := telemetry.New(telemetry.Options{Lookup: vars.lookup}); tel != nil || err != nil {
			t.Errorf("New() with %v = %v, %v, want nil", vars, tel, err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { all(t.Context(), nil) }); n != 0 {
		t.Errorf("%v allocations without telemetry, want none", n)
	}
}

func all(ctx context.Context, tel *telemetry.Telemetry) {
	ctx, run := tel.Run(ctx)
	_, op := tel.Client(ctx, telemetry.Request{Method: "tools/call", Tool: "add", Server: "calculator"})
	_ = op.Meta()
	op.End(telemetry.Outcome{})
	run.End(telemetry.RunOutcome{})
}

// TestOneSignal: an endpoint of one signal alone is used as it is, and the other signal is not sent.
func TestOneSignal(t *testing.T) {
	c := telemetrytest.New(t)
	tel := start(t, variables{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL + "/v1/traces", "OTEL_SERVICE_NAME": "robot"})
	all(t.Context(), tel)
	tel.SessionEnded("s", true, "", 1, false)
	tel.Close()
	if about, _ := c.Resource(); len(c.Spans()) != 2 || about["service.name"] != "robot" {
		t.Errorf("the collector got %d spans of %v, want 2 of robot", len(c.Spans()), about["service.name"])
	}
	c = telemetrytest.New(t)
	tel = start(t, variables{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": c.URL + "/v1/metrics"})
	all(t.Context(), tel)
	tel.Close()
	if c.Histogram(t, telemetry.RunDuration); len(c.Spans()) != 0 {
		t.Errorf("the collector got %d spans, want metrics only", len(c.Spans()))
	}
}

// TestSampler: a sampler from Lookup counts, and a trace that is not sampled is still named.
func TestSampler(t *testing.T) {
	for sampler, want := range map[string]int{"always_on": 2, "always_off": 0, "parentbased_always_off": 0, "traceidratio": 2} {
		c := telemetrytest.New(t)
		tel := start(t, variables{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_TRACES_SAMPLER": sampler})
		_, op := tel.Client(t.Context(), telemetry.Request{Method: "ping"})
		if flag := map[int]string{0: "-00", 2: "-01"}[want]; !strings.HasSuffix(op.Meta()["traceparent"], flag) {
			t.Errorf("%s: traceparent %q, want it to end with %s", sampler, op.Meta()["traceparent"], flag)
		}
		all(t.Context(), tel)
		tel.Close()
		if got := len(c.Spans()); got != want {
			t.Errorf("%s: %d spans, want %d", sampler, got, want)
		}
	}
}

func TestBadVariables(t *testing.T) {
	file := t.TempDir() + "/root.pem"
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; mcprun sends http/protobuf only: set it to that, and the endpoint to the collector's port for HTTP, usually 4318`},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json", `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL is "http/json"`},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "localhost:4317", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not an http or https address; write it as http://host:4318"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "authorization", "item 1 of OTEL_EXPORTER_OTLP_HEADERS is not NAME=value"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", `OTEL_EXPORTER_OTLP_COMPRESSION is "zstd"; mcprun knows gzip and none`},
		{"OTEL_TRACES_EXPORTER", "console", `OTEL_TRACES_EXPORTER is "console"; mcprun knows otlp and none`},
		{"OTEL_TRACES_SAMPLER", "jaeger_remote", `OTEL_TRACES_SAMPLER is "jaeger_remote"; mcprun knows`},
		{"OTEL_RESOURCE_ATTRIBUTES", "a=1,b", "item 2 of OTEL_RESOURCE_ATTRIBUTES"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", file, "has no certificate in PEM"},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", file, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, with its CLIENT_KEY"},
	} {
		vars := variables{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
		vars[c.name] = c.value
		if tel, err := telemetry.New(telemetry.Options{Lookup: vars.lookup}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New() with %s=%s = %v, %v, want the error %q", c.name, c.value, tel, err, c.want)
		}
	}
}

// TestDeadEndpoint: an endpoint that refuses, fails or never answers delays Close for a second at most, and is named once.
func TestDeadEndpoint(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections are accepted by the system, and nobody reads them
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing.Close()
	for name, address := range map[string]string{"silent": silent.Addr().String(), "refusing": refusing.Addr().String()} {
		var failed []error
		tel, err := telemetry.New(telemetry.Options{Lookup: variables{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + address}.lookup, Failed: func(err error) { failed = append(failed, err) }})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			all(t.Context(), tel)
		}
		began := time.Now()
		tel.Close()
		if took := time.Since(began); took > 3*time.Second { // a second, and what a busy machine adds
			t.Errorf("%s: Close took %v, want about a second", name, took)
		}
		if len(failed) != 1 || !strings.HasPrefix(failed[0].Error(), "telemetry is not sent: "+address+": ") {
			t.Errorf("%s: Failed was called with %v, want one error", name, failed)
		}
	}
}

// TestHostileMeta: what a client sends as a trace context is ignored unless it is one.
func TestHostileMeta(t *testing.T) {
	c := telemetrytest.New(t)
	tel := start(t, variables{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
	for _, meta := range []map[string]any{
		nil, {"traceparent": 7}, {"traceparent": "00-x"}, {"traceparent": strings.Repeat("0", 1<<20)}, {"traceparent": "00-00000000000000000000000000000000-0000000000000000-01"},
		{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nx: y"},
	} {
		_, op := tel.Serve(t.Context(), telemetry.Request{Method: "ping"}, meta)
		op.End(telemetry.Outcome{Session: strings.Repeat("s", 1<<20) + "\x1b[2J", Connection: telemetry.Connection{Protocol: "\u202e" + strings.Repeat("p", 1000)}})
	}
	tel.Close()
	for _, s := range c.Spans() {
		if len(s.ParentSpanId) != 0 {
			t.Errorf("a span is below %x, want a trace of its own", s.ParentSpanId)
		}
		for name, value := range telemetrytest.Attributes(s.Attributes) {
			if text, ok := value.(string); ok && (len(text) > 300 || strings.ContainsAny(text, "\x1b\u202e")) {
				t.Errorf("the attribute %s has %d bytes: %.50q", name, len(text), text)
			}
		}
	}
	if len(c.Spans()) != 6 {
		t.Errorf("%d spans, want 6", len(c.Spans()))
	}
}

func BenchmarkCallOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		all(b.Context(), nil)
	}
}

func BenchmarkCallOn(b *testing.B) {
	c := telemetrytest.New(b)
	tel, err := telemetry.New(telemetry.Options{Lookup: c.Lookup, Failed: func(error) {}})
	if err != nil {
		b.Fatal(err)
	}
	defer tel.Close()
	ctx, run := tel.Run(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		_, op := tel.Client(ctx, telemetry.Request{Method: "tools/call", Tool: "add", Server: "calculator"})
		_ = op.Meta()
		op.End(telemetry.Outcome{Connection: telemetry.Connection{Pipe: true, Protocol: "2026-07-28"}, RequestID: "7"})
	}
	run.End(telemetry.RunOutcome{})
}

// Nothing is recorded without an endpoint; the same calls then do nothing.
func Example() {
	tel, err := telemetry.New(telemetry.Options{Lookup: os.LookupEnv, Failed: func(err error) { fmt.Println(err) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tel.Close()
	ctx, run := tel.Run(context.Background())
	_, op := tel.Client(ctx, telemetry.Request{Method: "tools/call", Tool: "add", Server: "calculator"})
	// … send the request, with op.Meta() in its _meta …
	op.End(telemetry.Outcome{Connection: telemetry.Connection{Pipe: true}})
	run.End(telemetry.RunOutcome{Language: "python", Risk: "low"})
	fmt.Println("done")
	// Output: done
}

// TestPublishHead: a head of the record arrives as it was signed, and an endpoint for metrics alone is an error.
func TestPublishHead(t *testing.T) {
	const head = "mcprun/x\n4\n+mlAdDeNadkpMCmyLo0IdZiCuX4W8ZsWOBKp1xBAEHA=\n\n— mcprun/x 8E+sb9bD\n"
	c := telemetrytest.New(t)
	tel := start(t, variables{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
	if err := tel.PublishHead(t.Context(), []byte(head)); err != nil {
		t.Fatal(err)
	}
	tel.Close()
	span := c.Span(t, telemetry.HeadSpan)
	if len(span.Events) != 1 || span.Events[0].Name != telemetry.HeadEvent || len(span.ParentSpanId) != 0 {
		t.Fatalf("the span is %v, want one event and no parent", span)
	}
	wantAttributes(t, "the head", telemetrytest.Attributes(span.Events[0].Attributes), telemetry.HeadKey.String(head))
	for _, off := range []*telemetry.Telemetry{nil, start(t, variables{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": c.URL})} {
		if err := off.PublishHead(t.Context(), []byte(head)); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_ENDPOINT") {
			t.Errorf("PublishHead() = %v without traces, want what to set", err)
		}
		off.Close()
	}
}
