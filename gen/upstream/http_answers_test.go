package upstream

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestBadAnswersEndTheirCallOnly: other calls of the same server have nothing to do with them.
func TestBadAnswersEndTheirCallOnly(t *testing.T) {
	t.Parallel()
	answer := func(status int, media, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if media != "" {
				w.Header().Set("Content-Type", media)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"jsonrpc":`))
		}, "closed in the middle of the answer"},
		"failure":   {answer(500, "text/plain", "oops"), "HTTP status 500 Internal Server Error"},
		"too large": {answer(413, "text/plain", "oops"), "HTTP status 413"},
		"too many":  {answer(429, "text/plain", "oops"), "HTTP status 429 Too Many Requests"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, behind(t, methodReadResource, c.handler), testOptions())
			other := make(chan error, 1)
			go func() {
				_, err := s.Call(testContext(t), upstreamtest.ToolSlow, []byte(`{"ms":300}`), nil)
				other <- err
			}()
			_, err := s.ReadResource(testContext(t), "demo://one", nil)
			var gone *ConnectionError
			switch {
			case !errors.As(err, &gone) || !strings.Contains(err.Error(), c.want):
				t.Errorf("ReadResource() = %v, want %s", err, c.want)
			case gone.NotSent != (name == "too many"):
				t.Errorf("NotSent = %v", gone.NotSent)
			}
			if err := <-other; err != nil || s.Lost() {
				t.Errorf("the other call: %v; lost: %v", err, s.Lost())
			}
		})
	}
}

// TestMalformedAnswersEndTheirCallOnly: the same over HTTP as over pipes, whether the answer comes alone or as an event.
func TestMalformedAnswersEndTheirCallOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ media, before, text, want string }{
		{"application/json", "", `{"jsonrpc":"2.0","id":2,"result":{"contents":[NaN]}}`, "invalid character 'N'"},
		{"application/json", "", `{"jsonrpc"`, "unexpected end of JSON input"},
		{"application/json", "", `{}`, "it is not a JSON-RPC 2.0 message"},
		{"text/event-stream", "data: ", `{"jsonrpc":"2.0","id":2,"result":{"contents":[NaN]}}`, "invalid character 'N'"},
		{"text/event-stream", ": ping\r\n\r\nevent: ping\r\ndata: now\r\n\r\nevent: message\r\ndata: ", `{}`, "it is not a JSON-RPC 2.0 message"},
	} {
		s := open(t, behind(t, methodReadResource, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.media)
			_, _ = w.Write([]byte(c.before + c.text + "\n\n"))
		}), testOptions())
		_, err := s.ReadResource(testContext(t), "demo://one", nil)
		var bad *ProtocolError
		if !errors.As(err, &bad) || !strings.Contains(bad.Message, "malformed message: "+c.want) {
			t.Errorf("ReadResource() with %s = %v, want %q", c.text, err, c.want)
		}
		if s.Lost() {
			t.Errorf("Lost() after %s = true, want false", c.text)
		}
	}
}

// TestForeignAnswersEndTheSession: nobody can know what else such a server confuses.
func TestForeignAnswersEndTheSession(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"x","result":{"contents":[]}}`: `answered a request that was never made, with the id "x"`,
		`{"jsonrpc":"2.0","id":99,"result":{"contents":[]}}`:  `answered a request that was never made, with the id 99`,
	} {
		s := open(t, behind(t, methodReadResource, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text))
		}), testOptions())
		_, err := s.ReadResource(testContext(t), "demo://one", nil)
		wantConnectionError(t, err, want)
		if !s.Lost() {
			t.Error("Lost() = false, want true")
		}
	}
}

// TestRefusedCallsAreNotRepeated: only a 404 to a request of a session, or an error that says so, means that the session is
// gone, and a call goes out no more than once more for that.
func TestRefusedCallsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		session, modern bool
		status          int
		media, text     string
		calls           int32
		lost, notSent   bool
		want            string
	}{
		"400":                  {session: true, status: 400, media: "text/plain", text: "bad arguments", calls: 1, want: "HTTP status 400"},
		"400 with JSON":        {session: true, status: 400, media: "application/json", text: `{"error":"bad arguments"}`, calls: 1, want: "HTTP status 400"},
		"400 with an answer":   {session: true, status: 400, media: "application/json", text: `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad arguments"}}`, calls: 1, want: "bad arguments"},
		"400 for its session":  {session: true, status: 400, media: "text/plain", text: "Bad Request: No valid session ID provided", calls: 2, lost: true, want: "does not know the session that it has just begun"},
		"400 for no session":   {session: true, status: 400, media: "application/json", text: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no valid session"}}`, calls: 2, lost: true, want: `has just begun: the server no longer knows the session (it says "Bad Request: no valid session")`},
		"400 about a session":  {session: true, status: 400, media: "text/plain", text: "session_name is required", calls: 1, want: "HTTP status 400"},
		"401":                  {session: true, status: 401, media: "text/plain", text: "no", calls: 1, want: "the server refused the request (401 Unauthorized)"},
		"403":                  {session: true, status: 403, media: "text/plain", text: "no", calls: 1, want: "the server refused the request (403 Forbidden); check what the credentials"},
		"403 with an answer":   {session: true, status: 403, media: "application/json", text: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not yours"}}`, calls: 1, want: "not yours"},
		"404":                  {session: true, status: 404, media: "text/plain", text: "no", calls: 2, lost: true, want: "does not know the session that it has just begun"},
		"404 without sessions": {status: 404, media: "text/plain", text: "no", calls: 1, want: "HTTP status 404"},
		"405 with JSON":        {session: true, status: 405, media: "application/json", text: `{}`, calls: 1, want: "HTTP status 405"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			fake := upstreamtest.NewHTTP(t, upstreamtest.LegacyOnly, &upstreamtest.HTTPOptions{Sessions: c.session})
			srv := inFront(t, fake, methodCallTool, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.text))
			})
			p := NewPool([]config.Server{srv}, testOptions())
			defer p.Close()
			_, err := p.Call(testContext(t), srv.Key, upstreamtest.ToolEcho, []byte(`{}`), nil)
			var gone *ConnectionError
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &gone) && gone.NotSent {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if n := calls.Load(); n != c.calls {
				t.Errorf("the call went out %d times, not %d", n, c.calls)
			}
			if lost := p.members[srv.Key].session == nil; lost != c.lost {
				t.Errorf("the session is lost: %v, want %v", lost, c.lost)
			}
		})
	}
}
