package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// BenchmarkCall is a call through a pool beside one by the SDK alone, to the same server: small, with a large result and
// with large arguments.
func BenchmarkCall(b *testing.B) {
	srv := upstreamtest.Server(b, upstreamtest.Normal)
	p := NewPool([]config.Server{srv}, &Options{Lookup: os.LookupEnv})
	defer p.Close()
	cmd := exec.Command(srv.Command)
	for name, value := range srv.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	sdk, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer sdk.Close()
	for _, c := range []struct{ name, tool, args string }{
		{"small", upstreamtest.ToolEcho, `{"a":1}`},
		{"10 MB result", upstreamtest.ToolLarge, fmt.Sprintf(`{"bytes":%d}`, 10<<20)},
		{"10 MB arguments", upstreamtest.ToolFail, `{"a":"` + strings.Repeat("x", 10<<20) + `"}`},
	} {
		b.Run(c.name+"/pool", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Call(context.Background(), "fake", c.tool, json.RawMessage(c.args), &CallOptions{Progress: func(Progress) {}}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/sdk", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sdk.CallTool(context.Background(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.args)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
