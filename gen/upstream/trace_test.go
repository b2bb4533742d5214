package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestTrace: a server of either era gets the members of _meta, and the caller learns how the request was sent.
func TestTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, stateless := range map[string]bool{"newer era": true, "older era": false} {
		t.Run(name, func(t *testing.T) {
			var got map[string]any
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				got = req.Params.Meta
				return &mcp.CallToolResult{}, nil, nil
			})
			web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
			defer web.Close()
			srv := config.Server{Key: "s", Transport: config.TransportHTTP, URL: web.URL}
			if !stateless {
				srv.Protocol = config.ProtocolLegacy
			}
			s, err := upstream.Connect(t.Context(), srv, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			trace := &upstream.Trace{Meta: map[string]string{"traceparent": parent}}
			if _, err := s.Call(t.Context(), "echo", nil, &upstream.CallOptions{Trace: trace}); err != nil {
				t.Fatal(err)
			}
			if got["traceparent"] != parent {
				t.Errorf("the server got _meta %v, want traceparent %s in it", got, parent)
			}
			if trace.Pipe || trace.RequestID == "" || trace.Protocol != s.Info().Protocol || (trace.Session == "") != stateless {
				t.Errorf("trace %+v, want the request's id, %s, and a session id in the older era only", trace, s.Info().Protocol)
			}
		})
	}
}

// endings notes the ends of sessions.
type endings struct {
	mu   sync.Mutex
	seen []string
}

// SessionEnded implements [upstream.SessionObserver].
func (e *endings) SessionEnded(server string, pipe bool, protocol string, lasted time.Duration, lost bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, fmt.Sprint(server, " ", pipe, " ", protocol, " ", lasted > 0, " ", lost))
}

// TestSessionEnded: the end of a session over pipes is reported once, lost or closed.
func TestSessionEnded(t *testing.T) {
	got := &endings{}
	pool := upstream.NewPool([]config.Server{upstreamtest.Server(t, upstreamtest.Normal)}, &upstream.Options{Sessions: got})
	trace := &upstream.Trace{}
	if _, err := pool.Call(t.Context(), "fake", upstreamtest.ToolEcho, json.RawMessage(`{}`), &upstream.CallOptions{Trace: trace}); err != nil {
		t.Fatal(err)
	}
	if !trace.Pipe || trace.RequestID == "" {
		t.Errorf("trace %+v, want a pipe and the request's id", trace)
	}
	_, _ = pool.Call(t.Context(), "fake", upstreamtest.ToolCrash, json.RawMessage(`{}`), nil)
	if _, err := pool.Call(t.Context(), "fake", upstreamtest.ToolEcho, json.RawMessage(`{}`), nil); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got.seen) // the lost session may be closed late
	prefix := "fake true " + trace.Protocol + " true "
	if want := []string{prefix + "false", prefix + "true"}; !slices.Equal(got.seen, want) {
		t.Errorf("ends %q, want %q", got.seen, want)
	}
}
