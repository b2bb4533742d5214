package upstreamtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
)

// HTTPOptions are the settings of [NewHTTP]; nil is valid.
type HTTPOptions struct {
	// EventStream answers with text/event-stream instead of application/json.
	EventStream bool
	// Sessions gives out session ids in the older era, and demands them; see [HTTP.Forget].
	Sessions bool
	// UnknownStatus and UnknownBody are the answer to a request of an unknown session; 0 means 404 with a JSON-RPC error.
	UnknownStatus int
	UnknownBody   string
	// Token is the bearer token that every request must carry. Empty: no token is needed.
	Token string
	// Standalone lets clients open a stream for what belongs to no request; in the older era questions go there, and so
	// do notifications of changes.
	Standalone bool
}

// HTTP is a streamable HTTP server in the test.
type HTTP struct {
	// URL is its endpoint.
	URL string

	fake     *fake
	opts     HTTPOptions
	count    atomic.Int64
	mu       sync.Mutex
	versions []string
	sessions map[string]bool // by id
	closing  chan struct{}

	asked   atomic.Int64
	waiters sync.Map         // id of a request of ours → chan message
	streams map[*stream]bool // those that clients have open for what belongs to no request
}

// NewHTTP starts a server that ends with the test.
func NewHTTP(t testing.TB, mode Mode, opts *HTTPOptions) *HTTP {
	t.Helper()
	h := &HTTP{fake: newFake(mode), closing: make(chan struct{}), sessions: make(map[string]bool), streams: make(map[*stream]bool)}
	if opts != nil {
		h.opts = *opts
	}
	srv := httptest.NewServer(h)
	h.URL = srv.URL + "/mcp"
	t.Cleanup(func() {
		close(h.closing)
		srv.CloseClientConnections()
		srv.Close()
	})
	return h
}

// HTTPServer starts a server that ends with the test and returns its configuration, key "fake".
func HTTPServer(t testing.TB, mode Mode, opts *HTTPOptions) config.Server {
	t.Helper()
	return NewHTTP(t, mode, opts).Config()
}

// Config is the configuration that reaches the server.
func (h *HTTP) Config() config.Server {
	srv := config.Server{Key: "fake", Transport: config.TransportHTTP, URL: h.URL}
	if h.opts.Token != "" {
		srv.Headers = map[string]string{"Authorization": "Bearer " + h.opts.Token}
	}
	return srv
}

// Forget drops all sessions, as a server does that was restarted.
func (h *HTTP) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.sessions)
}

// Versions returns the Mcp-Protocol-Version headers of all tool calls so far.
func (h *HTTP) Versions() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.versions...)
}

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.opts.Token != "" && r.Header.Get("Authorization") != "Bearer "+h.opts.Token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if (h.fake.mode == LegacyOnly || h.fake.mode == RichLegacy) && r.Header.Get("Mcp-Protocol-Version") == modernVersion {
		http.Error(w, "Bad Request: Unsupported protocol version", http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodGet && h.opts.Standalone {
		h.listen(w, r)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "post here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "not a message", http.StatusBadRequest)
		return
	}
	if m.Method == "notifications/cancelled" {
		h.fake.mu.Lock()
		h.fake.cancelled++
		h.fake.mu.Unlock()
	}
	if !h.inSession(w, r, m) {
		return
	}
	if ch, ok := h.waiters.LoadAndDelete(string(m.ID)); ok && m.Method == "" {
		ch.(chan message) <- m
	}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.answer(w, r, m)
}

// inSession keeps the rules of sessions, and answers the request itself when it breaks them.
func (h *HTTP) inSession(w http.ResponseWriter, r *http.Request, m message) bool {
	if !h.opts.Sessions || r.Header.Get("Mcp-Protocol-Version") == modernVersion {
		return true // the newer era has no sessions
	}
	if m.Method == "initialize" {
		id := fmt.Sprintf("session-%d", h.count.Add(1))
		h.mu.Lock()
		h.sessions[id] = true
		h.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		return true
	}
	h.mu.Lock()
	known := h.sessions[r.Header.Get("Mcp-Session-Id")]
	h.mu.Unlock()
	if !known {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(cmp.Or(h.opts.UnknownStatus, http.StatusNotFound))
		_, _ = io.WriteString(w, cmp.Or(h.opts.UnknownBody, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`))
		return false
	}
	return true
}

func (h *HTTP) answer(w http.ResponseWriter, r *http.Request, m message) {
	if m.Method == "tools/call" {
		h.mu.Lock()
		h.versions = append(h.versions, r.Header.Get("Mcp-Protocol-Version"))
		h.mu.Unlock()
	}
	gone := make(chan struct{})
	go func() {
		select {
		case <-r.Context().Done():
		case <-h.closing:
		}
		close(gone)
	}()
	out := &stream{w: w, session: r.Header.Get("Mcp-Session-Id")}
	reply := h.fake.answer(m, peer{
		ask:   func(method, params string) message { return h.ask(out, gone, method, params) },
		crash: func() { panic(http.ErrAbortHandler) },
		gone:  gone, region: r.Header.Get("Mcp-Param-Region"), overHTTP: true,
		notify: func(method, params string) { h.notify(out, method, params) },
		tell: func(method, params string) {
			out.send(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
		},
	})
	defer out.end()
	text := reply.message(m.ID)
	if text == "" {
		<-gone
		return
	}
	if h.opts.EventStream {
		out.send(text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// SSEServer starts a server that speaks only the HTTP+SSE transport of the first revision, with the tools [ToolEcho],
// [ToolHang] and [ToolCancelled], and returns its configuration, key "fake". It ends with the test.
func SSEServer(t testing.TB) config.Server {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1.2.3"}, nil)
	server.AddTool(&mcp.Tool{Name: ToolEcho, InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: req.Params.Arguments}, nil
		})
	var cancelled atomic.Int64
	server.AddTool(&mcp.Tool{Name: ToolHang, InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			cancelled.Add(1)
			return nil, ctx.Err()
		})
	server.AddTool(&mcp.Tool{Name: ToolCancelled, InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"count": cancelled.Load()}}, nil
		})
	handler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Query().Get("sessionid") == "" {
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return config.Server{Key: "fake", Transport: config.TransportSSE, URL: srv.URL + "/sse"}
}
