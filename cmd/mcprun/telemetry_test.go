package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/telemetry"
	"github.com/mcpgen/mcpgen/runner/telemetry/telemetrytest"
)

// TestTelemetry: a run sends its spans before mcprun exits, to the endpoint that the project's .env names. One that is dead, or wrong, costs
// a second at most and is named once.
func TestTelemetry(t *testing.T) {
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	dir, env := threeWaysProject(t)
	run := func(dotenv string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(dotenv), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("mcprun", "--sandbox", "embedded", "-e", `import { sum } from "./servers/desk"; console.log((await sum({ a: 1, b: 2 })).sum);`)
		cmd.Dir, cmd.Env = dir, env
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil || string(out) != "3\n" {
			t.Fatalf("the script printed %q, %v, want 3:\n%s", out, err, said.String())
		}
		return said.String()
	}
	c := telemetrytest.New(t)
	said := run("OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL + "\n")
	if strings.Contains(said, "telemetry") {
		t.Errorf("mcprun said %q, want nothing about telemetry", said)
	}
	call, above := c.Span(t, "tools/call sum"), c.Span(t, telemetry.RunSpan)
	if string(call.ParentSpanId) != string(above.SpanId) {
		t.Error("the call is not below the run")
	}
	if got := telemetrytest.Attributes(call.Attributes); got["network.transport"] != "pipe" || got["mcprun.server"] != "desk" || got["jsonrpc.request.id"] == nil || got["mcp.protocol.version"] == nil {
		t.Errorf("the call has the attributes %v, want those of its connection", got)
	}
	for _, name := range []string{"mcp.client.operation.duration", "mcp.client.session.duration", telemetry.RunDuration} {
		if point, _ := c.Histogram(t, name); point.Count != 1 {
			t.Errorf("%s has %d values, want 1", name, point.Count)
		}
	}

	direct := telemetrytest.New(t)
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("OTEL_EXPORTER_OTLP_ENDPOINT="+direct.URL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mcprun", "call", "desk__sum", "a=1", "b=2")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mcprun call: %v\n%s", err, out)
	}
	direct.Span(t, "tools/call sum")

	silent, err := net.Listen("tcp", "127.0.0.1:0") // which accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	run("")
	usual := time.Since(began)
	began = time.Now()
	said = run("OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String() + "\n")
	if took := time.Since(began); took > 2*usual+3*time.Second || strings.Count(said, "telemetry is not sent") != 1 {
		t.Errorf("with a dead endpoint a run took %v instead of %v, and said %q", took, usual, said)
	}
	said = run("OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL + "\nOTEL_EXPORTER_OTLP_PROTOCOL=grpc\n")
	if !strings.Contains(said, `mcprun: no telemetry: OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`) {
		t.Errorf("mcprun said %q, want the variable that is wrong", said)
	}
}
