package upstream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// maxRedirects bounds redirects within the origin.
const maxRedirects = 5

// refusal is an error of the httpTransport. Its text holds no address.
type refusal struct {
	text   string
	unsent bool // the server cannot have acted on the request
	down   bool // a gateway says that the server does not work
}

func (e *refusal) Error() string { return e.text }

// httpTransport is the HTTP client of one session. Whatever the SDK, a redirect or an SSE endpoint event names, a
// request leaves only for the configured origin, and only that origin gets the configured headers and the token of a
// login.
type httpTransport struct {
	server  string // its configured name
	url     string
	origin  string
	headers http.Header
	next    *http.Transport
	conn    *rawConn
	sse     bool // the transport HTTP+SSE, whose answers come on a stream of their own

	// logins gives the token; nil without a store of logins, or if the headers hold credentials.
	logins *oauth.Source
	// challenged is told about each 401 and 403; it may be nil.
	challenged func(status int, c oauth.Challenge)
	// loginNeeded says why a person has to log in; nil: nobody has to.
	loginNeeded atomic.Pointer[loginError]

	// connecting is true until the session is established. The SDK may report the end of the session in place of the
	// reason: status is that of the last refused POST, 0 for none, and refused what this transport itself refused.
	connecting atomic.Bool
	status     atomic.Int32
	refused    atomic.Pointer[refusal]
	// forgotten is set when the server no longer knows the session, so that the next call needs a new one.
	forgotten atomic.Bool
}

func newHTTPTransport(srv config.Server, conn *rawConn) (*httpTransport, error) {
	u, err := url.Parse(srv.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	t := &httpTransport{server: srv.Key, url: srv.URL, origin: originOf(u), headers: make(http.Header, len(srv.Headers)), conn: conn, next: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        60 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}}
	for name, value := range srv.Headers {
		t.headers.Set(name, value)
	}
	t.connecting.Store(true)
	return t, nil
}

func (t *httpTransport) client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if originOf(req.URL) != t.origin {
			return t.refuse("the server redirects to another origin, which is refused: credentials would follow; configure the final address")
		}
		if len(via) >= maxRedirects {
			return t.refuse(fmt.Sprintf("the server redirects more than %d times", maxRedirects))
		}
		return nil
	}}
}

// refuse returns a refusal, and keeps it while the session is not established.
func (t *httpTransport) refuse(text string) error {
	r := &refusal{text: text}
	if t.connecting.Load() {
		t.refused.Store(r)
	}
	return r
}

// originOf returns scheme, host and port, the default port included.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + u.Hostname() + ":" + port
}

// RoundTrip sends a request to the configured origin, and bounds the answer.
func (t *httpTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if originOf(req.URL) != t.origin {
		return nil, t.refuse("the server names an address of another origin, which is refused: credentials would follow")
	}
	out := req.Clone(req.Context())
	for name, values := range t.headers {
		out.Header[name] = values
	}
	// The SDK sets this header only on its own connections, not through a rawConn.
	if v := t.conn.version.Load(); v != nil && out.Header.Get(versionHeader) == "" {
		out.Header.Set(versionHeader, *v)
	}
	resp, err := t.authorize(out)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost && resp.StatusCode >= 400 {
		t.noteStatus(out, resp.StatusCode)
	}
	if t.connecting.Load() && resp.StatusCode < 300 && isMedia(resp, "text/html") {
		_ = resp.Body.Close()
		return nil, t.refuse("the server answers with a web page, not with MCP; check its url")
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: MaxMessage, stream: isMedia(resp, "text/event-stream")}
	return t.checkAnswer(req, resp)
}

// noteStatus notes what an error status means for the session.
func (t *httpTransport) noteStatus(req *http.Request, status int) {
	if t.connecting.Load() {
		t.status.Store(int32(status))
		return
	}
	// By the specification 404 means that the server does not know the session. No other status says so for certain.
	if req.Header.Get(sessionHeader) != "" && status == http.StatusNotFound {
		t.forgotten.Store(true)
	}
}

func isMedia(resp *http.Response, media string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type"))), media)
}

// boundedBody ends a body that is too large with an error. The SDK bounds the events of a stream, which has no end.
type boundedBody struct {
	io.ReadCloser
	left   int
	stream bool
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.stream {
		return b.ReadCloser.Read(p)
	}
	if b.left <= 0 {
		return 0, &refusal{text: fmt.Sprintf("the server sent a message of more than %d MiB", MaxMessage>>20)}
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
