package upstream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
)

// TestChangesOfAnSDKServer hears of changes from a server that somebody else wrote.
func TestChangesOfAnSDKServer(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		server := mcp.NewServer(&mcp.Implementation{Name: "other", Version: "1"}, nil)
		offer := func(description string) {
			server.AddTool(&mcp.Tool{Name: "work", Description: description, InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
		}
		offer("first")
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
		t.Cleanup(func() {
			web.CloseClientConnections()
			web.Close()
		})
		s := open(t, config.Server{Key: "other", Transport: config.TransportHTTP, URL: web.URL}, testOptions())
		ctx := testContext(t)
		for try := 0; ; try++ {
			got, err := s.Definition(ctx, "work")
			if err != nil || ctx.Err() != nil {
				t.Fatalf("stateless %v: definition %s, %v", stateless, got, err)
			}
			if strings.Contains(string(got), "second") {
				break
			}
			if try%50 == 1 { // once the server may have heard that we listen
				offer("second " + strings.Repeat("!", try))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// TestSubscriptionsThatAreRefused are not asked for for ever.
func TestSubscriptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	event := func(text string) string { return "data: " + text + "\n\n" }
	for name, answer := range map[string]struct {
		status     int
		kind, body string
	}{
		"unknown":        {404, "text/plain", "what?"},
		"not found":      {200, "application/json", `{"jsonrpc":"2.0","id":"tools-changed","error":{"code":-32601,"message":"no"}}`},
		"error in event": {200, "text/event-stream", event(`{"jsonrpc":"2.0","id":"tools-changed","error":{"code":-32601,"message":"no"}}`)},
		"web page":       {200, "text/html", "<p>hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := mcp.NewServer(&mcp.Implementation{Name: "other", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "work", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") != methodSubscribe {
					handler.ServeHTTP(w, r)
					return
				}
				asked.Add(1)
				w.Header().Set("Content-Type", answer.kind)
				w.WriteHeader(answer.status)
				_, _ = io.WriteString(w, answer.body)
			}))
			t.Cleanup(web.Close)
			s := open(t, config.Server{Key: "other", Transport: config.TransportHTTP, URL: web.URL}, testOptions())
			if _, more := s.awaitSubscription(); more {
				t.Error("it would be asked again")
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times, want 1", n)
			}
			if _, err := s.Definition(testContext(t), "work"); err != nil {
				t.Error(err)
			}
			if s.Lost() {
				t.Error("the session is lost")
			}
		})
	}
}
