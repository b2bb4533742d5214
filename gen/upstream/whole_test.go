package upstream

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestBadAnswersEndTheirCallOnly: who else waits for the same server has nothing to do with it.
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
		handler  http.HandlerFunc
		want     string
		protocol bool
	}{
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"jsonrpc":`))
		}, "unexpected EOF", false},
		"nothing":   {answer(200, "application/json", ""), "not a JSON-RPC message", true},
		"no JSON":   {answer(200, "application/json", `{"jsonrpc"`), "not a JSON-RPC message", true},
		"a page":    {answer(200, "text/html", "<html>"), "a web page", false},
		"later":     {answer(202, "", ""), "no answer (HTTP status 202)", false},
		"failure":   {answer(500, "text/plain", "oops"), "HTTP status 500 Internal Server Error", false},
		"too large": {answer(413, "text/plain", "oops"), "HTTP status 413", false},
		"too many":  {answer(429, "text/plain", "oops"), "HTTP status 429 Too Many Requests", false},
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
			case c.protocol:
				wantProtocolError(t, err, CodeBadAnswer, c.want)
			case !errors.As(err, &gone) || !strings.Contains(err.Error(), c.want):
				t.Errorf("error %v, want %s", err, c.want)
			case gone.NotSent != (name == "too many"):
				t.Errorf("not sent: %v", gone.NotSent)
			}
			if err := <-other; err != nil || s.Lost() {
				t.Errorf("the other call: %v; lost: %v", err, s.Lost())
			}
		})
	}
}
