package httpguard

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

// TestSlowBody checks that a connection ends when its body does not arrive, whether or not the handler reads it, and that a
// handler may take longer once its body has arrived.
func TestSlowBody(t *testing.T) {
	const within = time.Second
	srv := httptest.NewServer(limitBodyTime(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
				t.Error("the request was cancelled, want it to go on")
			case <-time.After(2 * within):
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
			t.Errorf("%s: got %q, %v, want 200", path, answer[:n], err)
		}
		if err, ok := err.(net.Error); ok && err.Timeout() {
			t.Errorf("%s: the connection is still open, want it closed", path)
		}
		if path == "/long" {
			continue
		}
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("%s: the connection is still open, want it closed: %v", path, err)
		}
	}
}

// TestPreflight checks that preflight requests are answered for the allowed origins, and passed on for all others.
func TestPreflight(t *testing.T) {
	g := &Guard{Origins: []string{"https://app.example.com"}}
	passed := false
	handler := g.shareResources(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }))
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
			t.Errorf("%+v: got passed %v, header %v", c, passed, w.Header())
		}
		allowed := w.Header().Get("Access-Control-Allow-Headers")
		if !c.passed && (!strings.Contains(allowed, "Authorization") || !strings.Contains(allowed, "mcp-param-x") || strings.Contains(allowed, "evil") || strings.Contains(allowed, "a b")) {
			t.Errorf("%+v: got allowed headers %q", c, allowed)
		}
	}
}
