package upstream

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// These tests are of what a server may do to whoever listens to it: each ends in bounded time, with a name for what was
// wrong, or is forgiven.

func TestServerRequestsAreRefused(t *testing.T) {
	for _, mode := range []upstreamtest.Mode{upstreamtest.Normal, upstreamtest.LegacyOnly} {
		s := open(t, upstreamtest.Server(t, mode), testOptions())
		codes := field[[]int](t, mustCall(t, s, upstreamtest.ToolAsk, ""), "codes")
		if !slices.Equal(codes, []int{-32601, -32601, -32601}) {
			t.Errorf("%s: codes %v", mode, codes)
		}
	}
}

// TestFloodOfNotifications runs beside no other test, whose memory would count.
func TestFloodOfNotifications(t *testing.T) {
	s := open(t, upstreamtest.Server(t, noteFlood), testOptions())
	ctx, cancel := context.WithTimeout(testContext(t), 500*time.Millisecond)
	defer cancel()
	start, before := time.Now(), allocated()
	_, err := s.Call(ctx, upstreamtest.ToolEcho, nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 20*time.Second {
		t.Errorf("after %s: %v, want %v and at most %s", time.Since(start), err, context.DeadlineExceeded, 20*time.Second)
	}
	if grown := int64(allocated()) - int64(before); grown > 64<<20 {
		t.Errorf("%d MiB were kept, want at most %v", grown>>20, 64<<20)
	}
	start = time.Now()
	s.Close()
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("closing took %s, want at most %s", took, 20*time.Second)
	}
}

func allocated() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestInvalidUTF8InDefinitions(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		s := open(t, v.start(t, badUTF8), testOptions())
		tools, err := s.ListTools(testContext(t))
		if err != nil || len(tools) != 1 || !utf8.Valid(tools[0]) || !json.Valid(tools[0]) {
			t.Errorf("%s: %q, %v", v.name, tools, err)
		}
	}
}

func TestNullToolsAreNamed(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, nullTools), testOptions())
	if _, err := s.ListTools(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got := s.Omitted(); len(got) != 1 || !strings.Contains(got[0], "entry 1 of its list of tools is null") {
		t.Errorf(`omitted %q, want len(got) 1 and "entry 1 of its list of tools is null" in it`, got)
	}
	web := open(t, upstreamtest.HTTPServer(t, toolsWithHeaders, nil), testOptions())
	if _, err := web.ListTools(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got := web.Omitted(); len(got) != 1 || !strings.Contains(got[0], `tool "bad_header"`) {
		t.Errorf("omitted %q, want len(got) 1 and %q in it", got, `tool "bad_header"`)
	}
}

// behind puts a handler before the fake for one method.
func behind(t *testing.T, method string, answer http.HandlerFunc) config.Server {
	t.Helper()
	return inFront(t, upstreamtest.NewHTTP(t, upstreamtest.Normal, nil), method, answer)
}

// inFront puts a handler before that fake for one method.
func inFront(t *testing.T, fake http.Handler, method string, answer http.HandlerFunc) config.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && strings.Contains(string(body), `"method":"`+method+`"`) {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			answer(w, r)
			return
		}
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(strings.NewReader(string(body)))
		fake.ServeHTTP(w, again)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return config.Server{Key: "web", Transport: config.TransportHTTP, URL: srv.URL + "/mcp"}
}

func TestBodiesThatNeverEnd(t *testing.T) {
	cases := map[string]struct {
		answer http.HandlerFunc
		text   string // empty: time is up
	}{
		"headers, then nothing": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, ""},
		"a stream of comments": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ": keep alive\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		}, ""},
		"a stream of notifications": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"); err != nil {
					return
				}
			}
		}, ""},
		"a gzip bomb": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			chunk := make([]byte, 1<<20)
			for r.Context().Err() == nil {
				if _, err := z.Write(chunk); err != nil {
					return
				}
			}
		}, "more than 96 MiB"},
		"a gzip bomb in a stream": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			_, _ = io.WriteString(z, "data: ")
			chunk := []byte(strings.Repeat("x", 1<<20))
			for r.Context().Err() == nil {
				if _, err := z.Write(chunk); err != nil {
					return
				}
			}
		}, "exceeded 100663296 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := testOptions()
			opts.ListTimeout = 700 * time.Millisecond
			if c.text != "" {
				opts.ListTimeout = 5 * time.Minute // a slow machine takes its time for 96 MiB
			}
			s := open(t, behind(t, "tools/list", c.answer), opts)
			start := time.Now()
			_, err := s.ListTools(t.Context())
			switch {
			case err == nil:
				t.Error("there is a list")
			case c.text == "" && !strings.Contains(err.Error(), "did not list its tools in time"):
				t.Errorf("error %v", err)
			case c.text != "" && !strings.Contains(err.Error(), c.text):
				t.Errorf("error %v, want %q", err, c.text)
			}
			if took := time.Since(start); c.text == "" && took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestEndlessHeaders(t *testing.T) {
	t.Parallel()
	srv := behind(t, "tools/list", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1<<10))
		}
		w.WriteHeader(http.StatusOK)
	})
	s := open(t, srv, testOptions())
	_, err := s.ListTools(testContext(t))
	wantConnectionError(t, err, "")
}
