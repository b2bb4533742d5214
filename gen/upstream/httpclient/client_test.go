package httpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/gen/config"
)

// TestRedirectsKeepSecretsAtHome goes through the ways of one server to send us to another: by host, port and scheme, at
// every status that keeps or drops the method.
func TestRedirectsKeepSecretsAtHome(t *testing.T) {
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) })) // at another port
	t.Cleanup(other.Close)
	named := strings.Replace(other.URL, "http://127.0.0.1", "http://localhost", 1)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, from := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
			for _, to := range []string{other.URL, named, "//" + strings.TrimPrefix(other.URL, "http://")} {
				srv := from(http.RedirectHandler(to+"/mcp", status))
				c, err := New(Options{
					Server:  config.Server{Key: "web", URL: srv.URL, Headers: map[string]string{"X-Key": "s3cret-t0ken"}},
					Version: func() string { return "" },
				})
				if err != nil {
					t.Fatal(err)
				}
				c.next.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
				resp, err := c.HTTP().Post(srv.URL, "application/json", strings.NewReader(`{}`))
				if err == nil {
					resp.Body.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "another origin, which is refused") {
					t.Errorf("Post() with a %d from %s to %s: %v, want a refusal", status, name, to, err)
				}
				srv.Close()
			}
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("the other origin was visited %d times, want 0", n)
	}
}

// TestAnswerStream reads a stream byte by byte and in large pieces: what the server asks goes to the exchange, and a
// malformed message becomes an error of the request.
func TestAnswerStream(t *testing.T) {
	id, err := jsonrpc.MakeID(float64(7))
	if err != nil {
		t.Fatal(err)
	}
	const (
		note     = "event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"
		question = "event: message\r\nid: 2\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q1\",\r\ndata: \"method\":\"elicitation/create\"}\r\n\r\n"
		answer   = "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n"
	)
	large := "data: " + strings.Repeat("x", 2*LargeAnswer) + "\n\n"
	for _, c := range []struct {
		name, in, want string
		asked          int
		reserved       bool
	}{
		{name: "question", in: note + question + ": ping\n\n" + answer, want: note + "event: message\r\nid: 2\r\n\r\n: ping\n\n" + answer, asked: 1},
		{name: "malformed", in: "data: {\"id\":7,\"result\":NaN}\n\n", want: "malformed message"},
		{name: "other event", in: "event: ping\ndata: now\n\n" + answer, want: "event: ping\ndata: now\n\n" + answer},
		{name: "cut", in: answer[:20], want: answer[:20]},
		{name: "large", in: note + large, want: note + large, reserved: true},
	} {
		for _, size := range []int{1, 1 << 16} {
			var asked int
			var reserved bool
			x := &Exchange{ID: id, Asked: func(*jsonrpc.Request) { asked++ }, Reserve: func(n int) error {
				reserved = n == LargeGuess
				return nil
			}}
			if size == 1 && c.reserved {
				continue
			}
			got, err := io.ReadAll(&pieces{newAnswerStream(io.NopCloser(strings.NewReader(c.in)), x), size})
			if err != nil || !strings.Contains(string(got), c.want) || c.name != "malformed" && len(got) != len(c.want) {
				t.Errorf("%s: the stream reads as %.300q, %v, want %.300q", c.name, got, err, c.want)
			}
			if asked != c.asked || reserved != c.reserved {
				t.Errorf("%s: asked %d times, reserved %v, want %d and %v", c.name, asked, reserved, c.asked, c.reserved)
			}
		}
	}
	full := errors.New("no memory")
	x := &Exchange{ID: id, Reserve: func(int) error { return full }}
	if _, err := io.ReadAll(newAnswerStream(io.NopCloser(strings.NewReader(large)), x)); !errors.Is(err, full) {
		t.Errorf("a large answer without memory for it reads with the error %v, want %v", err, full)
	}
}

// pieces reads at most so many bytes at once.
type pieces struct {
	io.Reader
	size int
}

func (p *pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }
