package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
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
	long := strings.Repeat("x", 2*peeked)
	deep := `{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"x","text":"` + long + `","_meta":{"a":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}}]}}`
	for name, c := range map[string]struct {
		handler  http.HandlerFunc
		want     string
		protocol bool
	}{
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"jsonrpc":`))
		}, "closed in the middle of the answer", false},
		"nothing":   {answer(200, "application/json", ""), "not a JSON-RPC message", true},
		"no JSON":   {answer(200, "application/json", `{"jsonrpc"`), "not a JSON-RPC message", true},
		"a page":    {answer(200, "text/html", "<html>"), "a web page", false},
		"later":     {answer(202, "", ""), "no answer (HTTP status 202)", false},
		"failure":   {answer(500, "text/plain", "oops"), "HTTP status 500 Internal Server Error", false},
		"too large": {answer(413, "text/plain", "oops"), "HTTP status 413", false},
		"a list":    {answer(200, "application/json", "[]"), "not a JSON-RPC message", true},
		"capitals":  {answer(200, "Application/JSON", "[]"), "not a JSON-RPC message", true},
		"a text":    {answer(200, "text/plain", "oops"), `content of the type "text/plain"`, false},
		"nowhere":   {answer(302, "", ""), "HTTP status 302 Found", false},
		"unchanged": {answer(304, "", ""), "HTTP status 304 Not Modified", false},
		"long":      {answer(200, "application/json", `{"a":"`+long+`"}`), "not a JSON-RPC message", true},
		"deep":      {answer(200, "application/json", deep), "not a JSON-RPC message", true},

		"another's":              {answer(200, "application/json", `{"jsonrpc":"2.0","id":99,"result":{"contents":[]}}`), "the answer has the id 99", true},
		"another's event":        {answer(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n\n"), `the answer has the id "x"`, true},
		"an event of no JSON":    {answer(200, "text/event-stream", "event: message\ndata: {\"jsonrpc\"\n\n"), "not a JSON-RPC message", true},
		"an event of no message": {answer(200, "text/event-stream", "data: {\"a\":1}\r\n\r\n"), "not a JSON-RPC message", true},
		"a line of no event":     {answer(200, "text/event-stream", "oops\n\n"), "not a JSON-RPC message", true},
		"a deep event":           {answer(200, "text/event-stream", "data: "+deep+"\n\n"), "not a JSON-RPC message", true},
		"half an event":          {answer(200, "text/event-stream", "data: {\"jsonrpc\""), "terminated without response", false},

		"too many": {answer(429, "text/plain", "oops"), "HTTP status 429 Too Many Requests", false},
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

// TestCutAnswersOfAnyLength: a server, or what is between, gives up in the middle of a large answer.
func TestCutAnswersOfAnyLength(t *testing.T) {
	t.Parallel()
	long := `{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"demo://one","text":"` + strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		length   string
		text     string
		protocol bool
		want     string
	}{
		"by its length":  {"3000000", long, false, "closed in the middle of the answer"},
		"without a word": {"", long, true, "not a JSON-RPC message"},
		"in a list":      {"", long + `"}`, true, "not a JSON-RPC message"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, behind(t, methodReadResource, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if c.length != "" {
					w.Header().Set("Content-Length", c.length)
				}
				_, _ = w.Write([]byte(c.text))
			}), testOptions())
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
			case !errors.As(err, &gone) || gone.NotSent || !strings.Contains(err.Error(), c.want):
				t.Errorf("error %v, want %s", err, c.want)
			}
			if err := <-other; err != nil || s.Lost() {
				t.Errorf("the other call: %v; lost: %v", err, s.Lost())
			}
			mustCall(t, s, upstreamtest.ToolEcho, `{}`)
		})
	}
}

// TestRefusedCallsAreNotRepeated: only a 404 to a request of a session says that the session is gone, and a call goes out
// no more than once more for that.
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
		"400 for its session":  {session: true, status: 400, media: "text/plain", text: "Bad Request: No valid session ID provided", calls: 1, lost: true, want: "HTTP status 400"},
		"404":                  {session: true, status: 404, media: "text/plain", text: "no", calls: 2, lost: true, want: "in a new session too"},
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
				t.Errorf("the session is lost: %v", lost)
			}
		})
	}
}

// TestDoubtHarmsNobody: an answer that speaks of sessions, in whatever sense, ends no other call and is no failure of the server.
func TestDoubtHarmsNobody(t *testing.T) {
	t.Parallel()
	fake := upstreamtest.NewHTTP(t, upstreamtest.LegacyOnly, &upstreamtest.HTTPOptions{Sessions: true})
	arrived, answer := make(chan bool), make(chan bool)
	srv := inFront(t, fake, methodCallTool, func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Params struct{ Name string }
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		if m.Params.Name == "refused" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no training session 7"}}`, m.ID)
			return
		}
		arrived <- true
		<-answer
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
	})
	p := NewPool([]config.Server{srv}, testOptions())
	defer p.Close()
	other := make(chan error, 1)
	go func() {
		_, err := p.Call(testContext(t), srv.Key, "slow", nil, nil)
		other <- err
	}()
	<-arrived
	for range maxFailures + 1 {
		if _, err := p.Call(testContext(t), srv.Key, "refused", nil, nil); err == nil || !strings.Contains(err.Error(), "no training session 7") {
			t.Errorf("error %v, want the server's", err)
		}
	}
	close(answer)
	if err := <-other; err != nil {
		t.Errorf("the other call: %v", err)
	}
}
