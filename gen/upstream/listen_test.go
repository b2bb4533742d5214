package upstream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func TestListeningGoesOnAfterTheStreamEnded(t *testing.T) {
	t.Parallel()
	fake := upstreamtest.NewHTTP(t, upstreamtest.RichLegacy, &upstreamtest.HTTPOptions{Sessions: true, Standalone: true})
	s := open(t, fake.Config(), asking())
	for range 2 {
		for fake.Streams() == 0 {
			time.Sleep(time.Millisecond) // bounded by the test's time
		}
		res, err := s.Call(testContext(t), upstreamtest.ToolPage, []byte(`{"url":"https://example.com"}`), &CallOptions{
			Elicit: func(context.Context, *Question) (*Reply, error) { return &Reply{Action: ActionAccept}, nil }})
		if err != nil || string(res.Structured) != `{"answers":[{"action":"accept"}]}` {
			t.Fatalf("%v, %v, want string(res.Structured) %q and no error", res, err, `{"answers":[{"action":"accept"}]}`)
		}
		fake.Drop()
	}
	s.Close()
	for fake.Streams() > 0 {
		time.Sleep(time.Millisecond) // bounded by the test's time
	}
}

// TestUnansweredStream: a server that says nothing to the request for its stream is waited for once, not by each call.
func TestUnansweredStream(t *testing.T) {
	t.Parallel()
	fake := upstreamtest.NewHTTP(t, upstreamtest.RichLegacy, &upstreamtest.HTTPOptions{Sessions: true})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	s := open(t, config.Server{Key: "web", Transport: config.TransportHTTP, URL: srv.URL + "/mcp"}, asking())
	decline := &CallOptions{Elicit: func(context.Context, *Question) (*Reply, error) { return &Reply{Action: ActionDecline}, nil }}
	start := time.Now()
	for range 10 {
		if _, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, decline); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > 5*listenTime {
		t.Errorf("ten calls took %v, want at most %v", took, 5*listenTime)
	}
}

// TestOddStreams are servers whose own stream is not what it should be. None of them is a reason to fail or to wait.
func TestOddStreams(t *testing.T) {
	event := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
	}
	for name, answer := range map[string]http.HandlerFunc{
		"not there":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"broken":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"a web page": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"aborts":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no answer":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"long line": func(w http.ResponseWriter, _ *http.Request) {
			event(w, "data: "+strings.Repeat("x", 2*LargeAnswer))
		},
		"long event": func(w http.ResponseWriter, _ *http.Request) {
			event(w, strings.Repeat("data: xxxxxxxxxxxx\n", LargeAnswer/10))
		},
		"noise": func(w http.ResponseWriter, _ *http.Request) {
			event(w, ": hello\n\ndata: noise\n\ndata\n\n")
		},
		"an answer": func(w http.ResponseWriter, _ *http.Request) {
			event(w, "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
		},
		"in pieces": func(w http.ResponseWriter, _ *http.Request) {
			event(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/message\"}\n\n")
		},
		"half a line": func(w http.ResponseWriter, _ *http.Request) { event(w, "data: {\"jsonrpc\"") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := upstreamtest.NewHTTP(t, upstreamtest.LegacyOnly, &upstreamtest.HTTPOptions{Sessions: true})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					answer(w, r)
					return
				}
				fake.ServeHTTP(w, r)
			}))
			t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
			s := open(t, config.Server{Key: "fake", Transport: config.TransportHTTP, URL: srv.URL + "/mcp"}, asking())
			for range 3 {
				start := time.Now()
				if _, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, &CallOptions{Elicit: func(context.Context, *Question) (*Reply, error) { return nil, nil }}); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("the call took %s, want at most %s", took, 20*time.Second)
				}
			}
			start := time.Now()
			s.Close()
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("closing took %s, want at most %s", took, 20*time.Second)
			}
		})
	}
}

func TestNoStreamWhereNobodyListens(t *testing.T) {
	t.Parallel()
	fake := upstreamtest.NewHTTP(t, upstreamtest.LegacyOnly, &upstreamtest.HTTPOptions{Sessions: true, Standalone: true})
	s := open(t, fake.Config(), testOptions())
	mustCall(t, s, upstreamtest.ToolEcho, `{}`)
	if s.listening != nil || fake.Streams() != 0 {
		t.Error("a stream is open")
	}
}
