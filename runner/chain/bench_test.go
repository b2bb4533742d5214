package chain

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

type instant struct{}

func (instant) Call(context.Context, string, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
	return &upstream.CallResult{Structured: json.RawMessage(`{"result":3}`)}, nil
}

// BenchmarkChain is what a call costs between the bridge and the server: without and with a record, and in a run that can be continued.
func BenchmarkChain(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkChain(b, Settings{}, nil) })
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	log, err := audit.Open(s, audit.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	b.Run("record", func(b *testing.B) { benchmarkChain(b, Settings{Audit: log}, nil) })
	b.Run("journal", func(b *testing.B) { benchmarkChain(b, Settings{Journal: execution(b, newState(b))}, nil) })
	readOnly := map[string]ServerSettings{"calculator": {ReadOnly: []string{"*"}}}
	b.Run("plain reads", func(b *testing.B) { benchmarkChain(b, Settings{}, readOnly) })
	b.Run("journal of reads", func(b *testing.B) { benchmarkChain(b, Settings{Journal: execution(b, newState(b))}, readOnly) })
}

func benchmarkChain(b *testing.B, set Settings, servers map[string]ServerSettings) {
	cat, _, err := catalog.LoadTree("../../servers")
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(Options{Catalog: cat, Servers: servers, Upstreams: instant{}, Logger: slog.New(slog.DiscardHandler)}).NewCalls(b.Context(), Run{ID: "run-1", Settings: set})
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
