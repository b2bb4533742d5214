// Package endpoint sends JSON to a service of models, with a secret key. Start with [New].
//
// The key is sent only to the configured address, over https or to this machine; no redirect is followed, and no error holds the key. What the
// service answers is hostile: answers are bounded, and of an error only the beginning is quoted, in one line.
package endpoint

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

// MaxAnswer bounds an answer, in bytes. maxError bounds the quoted part of an error answer, and maxErrorRead how much of it is read.
const (
	MaxAnswer              = 32 << 20
	maxError, maxErrorRead = 300, 4 << 10
)

// Options are the settings of [New].
type Options struct {
	// Setting is the key of the settings that errors name, such as "search.embeddings", and What says in errors whose answer failed.
	Setting, What string
	// URL is the base address. Path is added to it, without the elements with which the address ends already, and not at all if it ends with the
	// last element. Query is added to it; what the address has itself takes precedence.
	URL   string
	Path  []string
	Query url.Values
	// Header is sent with each request.
	Header http.Header
	// Key is the secret, sent in the header KeyHeader: "Authorization" gets it as a bearer token. Empty: no key is sent.
	Key, KeyHeader string
	// Token returns a bearer token for each request, instead of Key. Nil: none.
	Token func(context.Context) (string, error)
	// Transport carries the requests. Nil: [http.DefaultTransport].
	Transport http.RoundTripper
}

// Error reports an invalid setting.
type Error struct{ Setting, Field, Message, Remedy string }

func (e *Error) Error() string { return fmt.Sprintf("%s.%s: %s", e.Setting, e.Field, e.Message) }

// Hint says what to write instead.
func (e *Error) Hint() string { return e.Remedy }

// ExitCode is exit.Usage.
func (e *Error) ExitCode() int { return exit.Usage }

// StatusError is an answer with another status than 200.
type StatusError struct {
	Status int
	// Text is the beginning of the answer, in one line, and Body some more of it as it is. Both are without the key.
	Text, Body string
	// RetryAfter is when the service wants to be asked again (RFC 9110 §10.2.3). Negative: it says nothing of it.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), e.Text))
}

// Endpoint is one address, and how requests to it are authorized. It is safe for concurrent use.
type Endpoint struct {
	opts    Options
	url     *url.URL
	secrets redact.Redactor
}

// IsAzureV1 reports whether an address of Azure OpenAI names its version: NAME.openai.azure.com/openai/v1. Such an address has no folder of
// deployments, and needs no api-version.
func IsAzureV1(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.Contains(u.Path+"/", "/openai/v1/")
}

// New checks the settings and sends nothing. Its errors are *[Error].
func New(opts Options) (*Endpoint, error) {
	base, err := url.Parse(opts.URL)
	bad := func(message, remedy string) (*Endpoint, error) {
		return nil, &Error{opts.Setting, "url", message, remedy}
	}
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return bad("it is not an http or https address", "write it as https://api.openai.com/v1")
	case base.User != nil:
		return bad("it holds a password", "name the variable that holds the key in the settings of the key")
	case (opts.Key != "" || opts.Token != nil) && base.Scheme == "http" && !IsLocal(base.Hostname()):
		return bad("a key is not sent without encryption", "write an https address, or leave the key out")
	case strings.ContainsFunc(opts.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, &Error{opts.Setting, "key", "it has characters that no key has", "copy the key again, in one line"}
	}
	if opts.Transport == nil {
		opts.Transport = http.DefaultTransport
	}
	e := &Endpoint{opts: opts, url: address(base, &opts)}
	e.secrets.Add(opts.Key, "key")
	return e, nil
}

// IsLocal reports whether a host is this machine by its name alone: localhost, or an address of the loopback.
func IsLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func address(base *url.URL, opts *Options) *url.URL {
	u := *base
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	rest := opts.Path
	for n := len(rest); n > 0; n-- {
		if strings.HasSuffix(u.Path, "/"+strings.Join(rest[:n], "/")) {
			rest = rest[n:]
			break
		}
	}
	if len(rest) > 0 && !strings.HasSuffix(u.Path, "/"+rest[len(rest)-1]) {
		u = *u.JoinPath(rest...)
	}
	q := u.Query()
	for name, values := range opts.Query {
		if q.Get(name) == "" {
			q[name] = values
		}
	}
	u.RawQuery = q.Encode()
	return &u
}

// URL returns the address of requests. It may contain secrets that the settings have put there.
func (e *Endpoint) URL() string { return e.url.String() }

// Host returns the host of the address, with its port.
func (e *Endpoint) Host() string { return e.url.Host }

// Post sends one request, and returns the body of the answer, which the caller closes. An answer with another status than 200 is a
// *[StatusError]. Reading more than [MaxAnswer] bytes of the body is an error.
func (e *Endpoint) Post(ctx context.Context, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, e.Failure(err)
	}
	for name, values := range e.opts.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	key := e.opts.Key
	if e.opts.Token != nil {
		if key, err = e.opts.Token(ctx); err != nil {
			return nil, e.Failure(fmt.Errorf("get a token: %w", err))
		}
		e.secrets.Add(key, "token")
	}
	switch {
	case key == "":
	case e.opts.Token != nil || e.opts.KeyHeader == "Authorization":
		req.Header.Set("Authorization", "Bearer "+key)
	default:
		req.Header.Set(e.opts.KeyHeader, key)
	}
	res, err := e.opts.Transport.RoundTrip(req) // which follows no redirect: the key would be sent to another address
	if err != nil {
		return nil, e.Failure(&connectionError{err})
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorRead)) // part of a text is better than nothing
		_ = res.Body.Close()
		if res.StatusCode/100 == 3 {
			return nil, e.Failure(fmt.Errorf("the endpoint redirects, which is not followed; write the new address in %s.url", e.opts.Setting))
		}
		return nil, e.Failure(&StatusError{res.StatusCode, e.Quote(string(text)), e.Clean(string(text)), retryAfter(res.Header)})
	}
	return &answer{res.Body, MaxAnswer, e}, nil
}

// answer is the body of an answer, up to a bound.
type answer struct {
	io.ReadCloser
	left int
	of   *Endpoint
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	switch a.left -= n; {
	case a.left < 0:
		err = a.of.Failure(fmt.Errorf("the answer is larger than %d MiB", MaxAnswer>>20))
	case err != nil && err != io.EOF:
		err = a.of.Failure(&connectionError{err})
	}
	return n, err
}

// connectionError is an error of a connection, before the answer or in it.
type connectionError struct{ err error }

func (e *connectionError) Error() string { return e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }

// Again reports whether the same request may succeed later: the service was busy or failed, or the connection broke. An address or a
// certificate that is wrong stays wrong.
func Again(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status == http.StatusRequestTimeout || status.Status >= 500 ||
			status.Status == http.StatusTooManyRequests && !strings.Contains(status.Body, "insufficient_quota") // which lasts until somebody pays
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return false
	}
	_, forged := errors.AsType[*tls.CertificateVerificationError](err)
	_, broken := errors.AsType[*connectionError](err)
	return broken && !forged
}

// failure is an error of an endpoint.
type failure struct {
	err error
	of  *Endpoint
}

func (f *failure) Error() string {
	return f.of.opts.What + " from " + f.of.url.Host + ": " + f.of.secrets.Clean(f.err.Error())
}

func (f *failure) Unwrap() error { return f.err }

// Failure adds the host of the endpoint to an error, once, without the rest of its address, which may contain secrets.
func (e *Endpoint) Failure(err error) error {
	if _, done := errors.AsType[*failure](err); done {
		return err
	}
	return &failure{err, e}
}

// Clean returns a text of the service without the key.
func (e *Endpoint) Clean(text string) string { return e.secrets.Clean(text) }

// Quote returns the beginning of a text of the service, on one line and without the key.
func (e *Endpoint) Quote(text string) string {
	text = strings.ToValidUTF8(e.Clean(text), "\uFFFD")
	return strings.Join(strings.Fields(ident.Head(text, maxError)), " ")
}

// retryAfter returns when to ask again: a number of seconds, or a date; retry-after-ms is what OpenAI and Azure send besides.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return time.Duration(min(s, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return -1
}
