package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/telemetry"
	"github.com/mcpgen/mcpgen/runner/telemetry/telemetrytest"
)

// TestTrace: each request to a server has a span, whose id the server gets; calls that are not sent have none. Nothing of the arguments and
// the result is in it.
func TestTrace(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		raw        bool
		answer     *upstream.CallResult
		err        error
		want       string // span name and error.type of each span
	}{
		{"a result", "crm__put", false, structured(`{"n":1}`), nil, "[tools/call put:]"},
		{"isError", "crm__put", false, &upstream.CallResult{IsError: true}, nil, "[tools/call put:tool_error]"},
		{"isError, passed on", "crm__put", true, &upstream.CallResult{IsError: true, Raw: json.RawMessage(`{"isError":true}`)}, nil, "[tools/call put:tool_error]"},
		{"a JSON-RPC error", "crm__put", false, nil, &upstream.ProtocolError{Code: -32050, Message: "ann@example.com"}, "[tools/call put:-32050]"},
		{"lost", "crm__get", false, nil, &upstream.ConnectionError{Server: "crm", Reason: "gone", NotSent: true}, "[tools/call get:connection tools/call get:connection]"},
		{"refused", "crm__nothing", false, nil, nil, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			collector := telemetrytest.New(t)
			tel, err := telemetry.New(telemetry.Options{Lookup: collector.Lookup})
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			w := newTestCalls(t, answerer(func(_ context.Context, _ string, _ json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
				told = append(told, opt.Trace.Meta["traceparent"])
				opt.Trace.Pipe, opt.Trace.RequestID = true, "7"
				return c.answer, c.err
			}), nil, Settings{}, "")
			w.chain.telemetry = tel
			w.handler = w.Handler()
			_, _ = w.handler(t.Context(), &call.Request{Tool: c.tool, Args: json.RawMessage(`{"id":1}`), Raw: c.raw})
			tel.Close()
			got := []string{}
			for i, s := range collector.Spans() {
				attributes := telemetrytest.Attributes(s.Attributes)
				kind, _ := attributes["error.type"].(string)
				got = append(got, s.Name+":"+kind)
				if want := fmt.Sprintf("00-%x-%x-01", s.TraceId, s.SpanId); told[i] != want {
					t.Errorf("the server got traceparent %s, want %s", told[i], want)
				}
				for name := range attributes {
					switch name {
					case "mcp.method.name", "gen_ai.tool.name", "gen_ai.operation.name", "mcprun.server", "network.transport", "jsonrpc.request.id", "error.type", "rpc.response.status_code":
					default:
						t.Errorf("the span has the attribute %s=%v", name, attributes[name])
					}
				}
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("spans %v, want %s", got, c.want)
			}
		})
	}
}
