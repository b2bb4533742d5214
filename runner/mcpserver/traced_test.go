package mcpserver_test

import (
	"context"
	"encoding/hex"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/telemetry"
	"github.com/mcpgen/mcpgen/runner/telemetry/telemetrytest"
)

// TestTraced: a request has a span below the one that its client names, and a run is below the request. Tools that do not exist are not
// named, since their names are the client's text.
func TestTraced(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, revision := range revisions {
		for _, transport := range []string{"pipe", "tcp"} {
			t.Run(revision+" "+transport, func(t *testing.T) {
				c := telemetrytest.New(t)
				tel, err := telemetry.New(telemetry.Options{Lookup: c.Lookup})
				if err != nil {
					t.Fatal(err)
				}
				t.Run("client", func(t *testing.T) { // which ends before the telemetry does
					w := newFixture(t)
					w.opt.Telemetry = tel
					w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
						_, run := tel.Run(ctx)
						run.End(telemetry.RunOutcome{})
						return &runner.Result{Cause: runner.CauseExit}, nil
					}
					var cs *mcp.ClientSession
					if s := w.server(); transport == "pipe" {
						cs = w.stdio(s, revision, nil)
					} else {
						web := w.web(s, &mcpserver.HTTPOptions{Customer: "acme"})
						client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
						cs, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL + mcpserver.Path, HTTPClient: http.DefaultClient, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
						if err != nil {
							t.Fatal(err)
						}
						defer cs.Close()
					}
					meta := mcp.Meta{"traceparent": "00-" + trace + "-" + parent + "-01", "tracestate": "a=1"}
					if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: "execute_code", Arguments: map[string]any{"code": "secret()"}}); err != nil {
						t.Fatal(err)
					}
					if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "ann@example.com"}); err == nil {
						t.Error("an unknown tool was called")
					}
					if res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"nothing": 1}}); err == nil && !res.IsError {
						t.Error("execute_code without code is no error")
					}
				})
				tel.Close()
				var called int
				for _, s := range c.Spans() {
					attributes := telemetrytest.Attributes(s.Attributes)
					switch kind, _ := attributes["error.type"].(string); {
					case s.Name == "tools/call execute_code" && kind == "":
						called++
						if hex.EncodeToString(s.TraceId) != trace || hex.EncodeToString(s.ParentSpanId) != parent || s.TraceState != "a=1" {
							t.Errorf("the request is %x below %x, want %s below %s", s.TraceId, s.ParentSpanId, trace, parent)
						}
						if run := c.Span(t, telemetry.RunSpan); string(run.ParentSpanId) != string(s.SpanId) {
							t.Error("the run is not below the request")
						}
						if attributes["network.transport"] != transport || attributes["mcp.protocol.version"] != revision || attributes["mcp.method.name"] != "tools/call" {
							t.Errorf("attributes %v, want %s and %s", attributes, transport, revision)
						}
						if _, session := attributes["mcp.session.id"]; session != (transport == "tcp" && revision == revisions[0]) {
							t.Errorf("attributes %v: mcp.session.id belongs to sessions over HTTP", attributes)
						}
					case s.Name == "tools/call execute_code" && kind == telemetry.ToolError:
						called++
					case s.Name == "tools/call":
						called++
						if kind != "-32602" || attributes["rpc.response.status_code"] != "-32602" {
							t.Errorf("an unknown tool: %v, want error.type -32602", attributes)
						}
					}
				}
				if called != 3 {
					t.Errorf("%d spans of calls, want 3, in %v", called, c.Spans())
				}
				if transport == "pipe" {
					c.Histogram(t, mcpconv.ServerSessionDuration{}.Name())
				}
			})
		}
	}
}
