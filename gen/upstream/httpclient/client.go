// Package httpclient is the HTTP client of one session with a remote MCP server.
//
// Whatever the SDK, a redirect or an SSE endpoint event names, a request leaves only for the configured origin, and only
// that origin gets the configured headers and the token of a login. Answers are bounded, and an HTTP error is an error of
// its request; the SDK would end the session. A request that the server makes in the stream that answers one of our
// requests belongs to that request: see [Exchange].
package httpclient

import (
	"context"
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
	"github.com/mcpgen/mcpgen/gen/upstream/internal/message"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// maxRedirects bounds redirects within the origin.
const maxRedirects = 5

// Refusal is an error of a [Client]. Its text holds no address.
type Refusal struct {
	text string
	// Unsent says that the server cannot have acted on the request.
	Unsent bool
	// Down says that a gateway reported the server as not working.
	Down bool
}

func (e *Refusal) Error() string { return e.text }

// Options are the settings of a [Client]. Only Server is required.
type Options struct {
	// Server is a remote server, its variables expanded.
	Server config.Server
	// SSE says that answers come on a separate stream (the transport HTTP+SSE).
	SSE bool
	// Version returns the protocol version, or "" before the two sides have agreed on one.
	Version func() string
	// Tokens gives the tokens; nil sends none.
	Tokens Tokens
	// Challenged is told about each 401 and 403.
	Challenged func(status int, c oauth.Challenge)
}

// Tokens gives the access tokens of one server: those of a person's login, or of a client without a person.
type Tokens interface {
	// Token returns a token that has probably not expired, or "".
	Token(ctx context.Context) (string, error)
	// Renews reports whether Refresh may help after the server has refused a token. refused is "" if the request had
	// none.
	Renews(status int, c oauth.Challenge, refused string) bool
	// Refresh returns another token.
	Refresh(ctx context.Context, refused string, c oauth.Challenge) (string, error)
	// Want notes scopes whose lack made the server refuse a request.
	Want(ctx context.Context, scopes []string)
	// Describe returns what the token is, and what to do when the server refuses it, for people.
	Describe() (token, remedy string)
}

// Client is the HTTP client of one session. A nil Client stands for a server that does not use HTTP.
type Client struct {
	Options

	origin  string
	headers http.Header
	next    *http.Transport

	loginNeeded atomic.Pointer[loginError] // why a person has to log in; nil: nobody has to

	// While a session is being made, the SDK may report its end instead of the reason. status is the status of the last
	// refused POST, or 0, and refused is this client's own refusal.
	established atomic.Bool
	status      atomic.Int32
	refused     atomic.Pointer[Refusal]
	forgotten   atomic.Bool // the server no longer knows the session
}

// New returns a client.
func New(opts Options) (*Client, error) {
	u, err := url.Parse(opts.Server.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	c := &Client{Options: opts, origin: originOf(u), headers: make(http.Header, len(opts.Server.Headers)), next: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        60 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}}
	for name, value := range opts.Server.Headers {
		c.headers.Set(name, value)
	}
	return c, nil
}

// Established marks the end of connecting.
func (c *Client) Established() {
	if c != nil {
		c.established.Store(true)
	}
}

// Status returns the status of the last POST that was refused before the session was established, or 0 if there was none.
func (c *Client) Status() int {
	if c == nil {
		return 0
	}
	return int(c.status.Load())
}

// Refused returns this client's own refusal before the session was established, or nil if there was none.
func (c *Client) Refused() error {
	if c != nil {
		if refused := c.refused.Load(); refused != nil {
			return refused
		}
	}
	return nil
}

// LoginNeeded returns why a person has to log in, or nil if nobody has to.
func (c *Client) LoginNeeded() error {
	if c != nil {
		if needed := c.loginNeeded.Load(); needed != nil {
			return needed
		}
	}
	return nil
}

// Forgotten reports whether the server no longer knows the session, so that the next request needs a new one.
func (c *Client) Forgotten() bool { return c != nil && c.forgotten.Load() }

// Close drops idle connections.
func (c *Client) Close() {
	if c != nil {
		c.next.CloseIdleConnections()
	}
}

// HTTP returns the client to hand to the SDK.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if originOf(req.URL) != c.origin {
			return c.refuse("the server redirects to another origin, which is refused: credentials would follow; configure the final address")
		}
		if len(via) >= maxRedirects {
			return c.refuse(fmt.Sprintf("the server redirects more than %d times", maxRedirects))
		}
		return nil
	}}
}

// refuse returns a refusal, and keeps it while the session is not established.
func (c *Client) refuse(text string) error {
	r := &Refusal{text: text}
	if !c.established.Load() {
		c.refused.Store(r)
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
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	if originOf(req.URL) != c.origin {
		return nil, c.refuse("the server names an address of another origin, which is refused: credentials would follow")
	}
	out := req.Clone(req.Context())
	for name, values := range c.headers {
		out.Header[name] = values
	}
	// The SDK sets this header to the agreed version only on its own connections.
	if v := c.Version(); v != "" {
		out.Header.Set(versionHeader, v)
	}
	if x := exchangeOf(req.Context()); x != nil && x.Name != "" {
		out.Header.Set(nameHeader, headerValue(x.Name))
	}
	resp, err := c.authorize(out)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost && resp.StatusCode >= 400 && !c.established.Load() {
		c.status.Store(int32(resp.StatusCode))
	}
	if !c.established.Load() && resp.StatusCode < 300 && isMedia(resp, "text/html") {
		_ = resp.Body.Close()
		return nil, c.refuse("the server answers with a web page, not with MCP; check its url")
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: message.Max, stream: isMedia(resp, "text/event-stream")}
	return c.checkAnswer(req, resp)
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
		return 0, &Refusal{text: fmt.Sprintf("the server sent a message of more than %d MiB", message.Max>>20)}
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
