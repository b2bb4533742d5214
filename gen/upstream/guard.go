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

// refusal is an error of the guard; its text holds no address.
type refusal struct {
	text   string
	unsent bool // the server cannot have acted on the request
	down   bool // it does not work, in the word of what stands before it
}

func (e *refusal) Error() string { return e.text }

// guard is the HTTP client of one session. Whatever the SDK, a redirect or an SSE endpoint event names, a request
// leaves only for the configured origin, and only there go the configured headers and the token of a login.
type guard struct {
	server  string // its configured name
	url     string
	origin  string
	headers http.Header
	next    *http.Transport
	tap     *tap
	// apart says that answers do not come with their requests, but over a stream of their own: the transport SSE.
	apart bool

	// logins gives the token; nil where there is no place for logins, or the headers bring credentials of their own.
	logins *oauth.Source
	// challenged is told each 401 and 403; nil: nobody is. needed is why a login is wanted, nil as long as it is not.
	challenged func(status int, c oauth.Challenge)
	needed     atomic.Pointer[loginNeeded]

	// connecting is true until the session stands; status is then that of the last refused POST, 0 for none, and
	// refusal what the guard itself refused. The SDK may report the end of the session in place of either.
	connecting atomic.Bool
	status     atomic.Int32
	refusal    atomic.Pointer[refusal]
	// forgotten is set when the server no longer knows our session: the next call needs a new one.
	forgotten atomic.Bool
	// doubted is set when it may not know it any more: the next call gets a new one, but none is made again.
	doubted atomic.Bool
}

func newGuard(srv config.Server, t *tap) (*guard, error) {
	u, err := url.Parse(srv.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	g := &guard{server: srv.Key, url: srv.URL, origin: originOf(u), headers: make(http.Header, len(srv.Headers)), tap: t, next: &http.Transport{
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
		g.headers.Set(name, value)
	}
	g.connecting.Store(true)
	return g, nil
}

func (g *guard) client() *http.Client {
	return &http.Client{Transport: g, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if originOf(req.URL) != g.origin {
			return g.refuse("the server redirects to another origin, which is refused: credentials would follow; configure the final address")
		}
		if len(via) >= maxRedirects {
			return g.refuse(fmt.Sprintf("the server redirects more than %d times", maxRedirects))
		}
		return nil
	}}
}

// refuse makes a refusal and keeps it while the session is being made.
func (g *guard) refuse(text string) error {
	r := &refusal{text: text}
	if g.connecting.Load() {
		g.refusal.Store(r)
	}
	return r
}

// originOf returns scheme, host and port, the default port written out.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + u.Hostname() + ":" + port
}

// RoundTrip sends a request to the configured origin, and bounds the answer.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if originOf(req.URL) != g.origin {
		return nil, g.refuse("the server names an address of another origin, which is refused: credentials would follow")
	}
	out := req.Clone(req.Context())
	for name, values := range g.headers {
		out.Header[name] = values
	}
	// The SDK sets this header by a private channel that the tap hides.
	if v := g.tap.version.Load(); v != nil && out.Header.Get(versionHeader) == "" {
		out.Header.Set(versionHeader, *v)
	}
	resp, err := g.send(out)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost && resp.StatusCode >= 400 {
		g.refused(out, resp.StatusCode)
	}
	if g.connecting.Load() && resp.StatusCode < 300 && isMedia(resp, "text/html") {
		_ = resp.Body.Close()
		return nil, g.refuse("the server answers with a web page, not with MCP; check its url")
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: MaxMessage, stream: isMedia(resp, "text/event-stream")}
	if asksForTools(req) {
		resp.Body = &shallowBody{ReadCloser: resp.Body}
	}
	return g.confine(req, resp)
}

// refused notes what an error status means for the session.
func (g *guard) refused(req *http.Request, status int) {
	if g.connecting.Load() {
		g.status.Store(int32(status))
		return
	}
	// 404 is what the specification says for a session the server does not know. Nothing else says so for certain.
	if req.Header.Get(sessionHeader) != "" && status == http.StatusNotFound {
		g.forgotten.Store(true)
	}
}

func isMedia(resp *http.Response, media string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type"))), media)
}

// boundedBody ends a body that is too large with an error. A stream has no end of its own; its events are bounded by
// the SDK.
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
