package mcpserver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestSlowBody: a body that does not come is not waited for, whether or not somebody reads it; a handler that goes on after
// its body was there is left alone.
func TestSlowBody(t *testing.T) {
	const within = 300 * time.Millisecond
	srv := httptest.NewServer(prompt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refuse":
			w.WriteHeader(http.StatusUnauthorized)
		case "/read":
			if _, err := io.ReadAll(r.Body); err != nil {
				w.WriteHeader(http.StatusRequestTimeout)
			}
		case "/long":
			_, _ = io.ReadAll(r.Body)
			select {
			case <-r.Context().Done():
				t.Error("the request ended, though its client is there")
			case <-time.After(4 * within):
			}
		}
	}), within))
	defer srv.Close()
	for path, sent := range map[string]string{"/refuse": "x", "/read": "x", "/long": "0123456789"} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n%s", path, sent)
		answer := make([]byte, 12)
		n, err := io.ReadFull(conn, answer)
		if path == "/long" && string(answer) != "HTTP/1.1 200" {
			t.Errorf("%s: %q %v", path, answer[:n], err)
		}
		if err, ok := err.(net.Error); ok && err.Timeout() {
			t.Errorf("%s: the connection stays", path)
		}
		if path == "/long" {
			continue
		}
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("%s: the connection stays: %v", path, err)
		}
	}
}

// TestPages: what browsers ask before a page's request is answered for the origins that were named, and for no other.
func TestPages(t *testing.T) {
	h := &entrance{opt: HTTPOptions{Origins: []string{"https://app.example.com"}}}
	passed := false
	handler := h.pages(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }))
	for _, c := range []struct {
		method, origin, asks, headers string
		passed, allowed               bool
	}{
		{"OPTIONS", "https://app.example.com", "POST", "authorization,mcp-param-x,x-evil,mcp-param-a b", false, true},
		{"OPTIONS", "https://app.example.com", "", "", true, true},
		{"POST", "https://app.example.com", "", "", true, true},
		{"OPTIONS", "https://evil.example", "POST", "authorization", true, false},
		{"POST", "", "", "", true, false},
	} {
		passed = false
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/mcp", nil)
		for name, value := range map[string]string{"Origin": c.origin, "Access-Control-Request-Method": c.asks, "Access-Control-Request-Headers": c.headers} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if passed != c.passed || (w.Header().Get("Access-Control-Allow-Origin") != "") != c.allowed {
			t.Errorf("%+v: passed %v, %v", c, passed, w.Header())
		}
		sends := w.Header().Get("Access-Control-Allow-Headers")
		if !c.passed && (!strings.Contains(sends, "Authorization") || !strings.Contains(sends, "mcp-param-x") || strings.Contains(sends, "evil") || strings.Contains(sends, "a b")) {
			t.Errorf("%+v: %s", c, sends)
		}
	}
}

// TestOldestSession: only a session that nobody uses makes room, and the one that has been unused for longest.
func TestOldestSession(t *testing.T) {
	var u uses
	later := func(n time.Duration) time.Time { return time.Now().Add(n) }
	u.begin("first")()
	end := u.begin("listening")
	u.begin("last")()
	ids := []string{"last", "listening", "first"}
	if got := u.oldest(ids, later(-time.Minute)); got != "" {
		t.Errorf("%q was used just now", got)
	}
	if got := u.oldest(ids, later(time.Minute)); got != "first" {
		t.Errorf("%q, want first", got)
	}
	if got := u.oldest([]string{"listening"}, later(time.Minute)); got != "" {
		t.Errorf("%q has a request under way", got)
	}
	end()
	if got := u.oldest([]string{"listening"}, later(time.Minute)); got != "listening" {
		t.Errorf("%q, want listening", got)
	}
	if got := u.oldest([]string{"new"}, later(-time.Minute)); got != "" {
		t.Errorf("%q is new", got)
	}
	if len(u.of) != 1 {
		t.Errorf("%d are remembered", len(u.of))
	}
}
