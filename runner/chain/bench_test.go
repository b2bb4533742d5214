package chain

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

type instant struct{}

func (instant) Call(context.Context, string, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
	return &upstream.CallResult{Structured: json.RawMessage(`{"result":3}`)}, nil
}

// BenchmarkChain is what a call costs between the bridge and the server.
func BenchmarkChain(b *testing.B) {
	cat, _, err := catalog.LoadTree("../../servers")
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(Options{Catalog: cat, Upstreams: instant{}, Logger: slog.New(slog.DiscardHandler)}).NewCalls(b.Context(), Run{})
	if err != nil {
		b.Fatal(err)
	}
	handler := c.Handler()
	req := &call.Request{Tool: "calculator__add", Args: json.RawMessage(`{"numbers":[1,2]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := handler(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
