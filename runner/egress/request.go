package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxShown bounds a path in events.
const maxShown = 1000

// request makes a request that can be read: plain HTTP, one inside an inspected connection, or one of Do. via is the connection. It always
// returns a response.
func (p *Proxy) request(r *http.Request, via *tunnel) *http.Response {
	if !p.begin() {
		return answer(r, &Refusal{Reason: "the run has ended"})
	}
	x := &exchange{p: p, request: r, via: via}
	refused := x.judge()
	if refused == nil {
		refused = x.send()
	}
	if refused == nil {
		return x.response
	}
	x.end(refused)
	return answer(r, refused)
}

// exchange is one request with its response.
type exchange struct {
	p        *Proxy
	request  *http.Request
	via      *tunnel
	event    *Event
	target   Target
	entries  []*entry // those that allow it; nil: a person did
	scrub    []string // secrets that were put in
	response *http.Response
	sent     atomic.Int64
	received atomic.Int64
	over     *Refusal // ended the response
	cancel   context.CancelFunc
	once     sync.Once
}

// judge decides about the request, and counts it.
func (x *exchange) judge() *Refusal {
	p, r := x.p, x.request
	protocol := HTTP
	if r.URL.Scheme == "https" {
		protocol = HTTPS
	}
	t, err := ParseTarget(r.URL.Host, protocol.Port())
	x.target, x.event = t, p.event(t, protocol)
	x.event.Method, x.event.Path = ident.Clip(ident.Printable(r.Method, 20), 20), ident.Clip(ident.Printable(r.URL.EscapedPath(), maxShown), maxShown)
	switch {
	case err != nil:
		x.event.Host = ident.Clip(ident.Printable(r.URL.Host, maxHost), maxHost)
		return &Refusal{Check: ByTarget, Target: t, Reason: err.Error()}
	case r.URL.Scheme != "http" && r.URL.Scheme != "https":
		return &Refusal{Check: ByProtocol, Target: t, Reason: fmt.Sprintf("URLs with %.20q are not supported", r.URL.Scheme+":")}
	case x.via != nil && (t.Host != x.via.target.Host || t.Port != x.via.target.Port && r.URL.Port() != ""):
		return &Refusal{Check: ByProtocol, Target: t, Reason: fmt.Sprintf("the connection is to %s, but its request names the host %s", x.via.target, t)}
	case x.via != nil:
		t.Port = x.via.target.Port
		x.target, x.event.Port = t, t.Port
	}
	a, refused := p.admit(r.Context(), t, protocol)
	if refused != nil {
		return refused
	}
	x.event.Rule, x.event.By = a.rule, a.by
	if refused := x.choose(a, protocol); refused != nil {
		return refused
	}
	return p.budget.take(t)
}

// choose finds the entries that allow this very request.
func (x *exchange) choose(a *admission, protocol Protocol) *Refusal {
	if !a.allows(protocol) {
		return protocolRefusal(a, protocol)
	}
	if a.entries == nil {
		return nil
	}
	path, plain := readPath(x.request.URL)
	replaced := replacing(x.request.Header)
	for _, e := range a.entries {
		switch {
		case !e.allows(protocol):
		case e.paths != nil && !plain, (e.paths != nil || e.methods != nil) && replaced != "":
		case e.allowsRequest(x.request.Method, path):
			x.entries = append(x.entries, e)
		}
	}
	if len(x.entries) > 0 {
		x.event.Rule = x.p.opt.Rules.rule(x.entries[0])
		return nil
	}
	reason := fmt.Sprintf("%s does not allow %s %s", a.rule, x.event.Method, x.event.Path)
	switch {
	case !plain:
		reason += ", because servers read such a path in different ways"
	case replaced != "":
		reason += ", because some servers take another method or path from its header " + replaced
	}
	return &Refusal{Check: ByAllowList, Target: a.target, Reason: reason, Remedy: "an operator adds the method or path to the entry"}
}

func protocolRefusal(a *admission, protocol Protocol) *Refusal {
	return &Refusal{
		Check: ByProtocol, Target: a.target, Reason: fmt.Sprintf("%s does not allow %s to %s", a.rule, protocol, a.target),
		Remedy: fmt.Sprintf("an operator adds %s to the protocols of the entry", protocol),
	}
}

// replacements are the headers with which some servers replace the method or path of a request.
var replacements = []string{
	"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Method", "X-Forwarded-Method",
	"X-Original-Url", "X-Rewrite-Url", "X-Forwarded-Uri",
}

// replacing returns the header of a request that has another method or path for servers which follow it; empty if it has none. Many servers
// read _ in the name of a header as -.
func replacing(h http.Header) string {
	for name, values := range h {
		name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
		if slices.Contains(replacements, name) && strings.Join(values, "") != "" {
			return name
		}
	}
	return ""
}

// readPath returns the path of a URL, decoded. It reports whether servers agree on it: one with . or .. or an encoded slash may lead
// elsewhere.
func readPath(u *url.URL) (path string, plain bool) {
	path = u.Path
	if path == "" {
		path = "/"
	}
	if !utf8.ValidString(path) || strings.ContainsAny(path, "\\\x00;") || strings.Contains(path, "//") || strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") || strings.Contains(path, "%") {
		return path, false
	}
	parts := strings.Split(path, "/")
	return path, !slices.Contains(parts, ".") && !slices.Contains(parts, "..")
}

// send makes the request. It is copied, because goproxy still uses the one that came.
func (x *exchange) send() *Refusal {
	p, r := x.p, x.request
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(p.ctx, cancel)
	x.cancel = func() { stop(); cancel() }
	out := r.Clone(ctx)
	out.RequestURI, out.Host = "", ""
	out.URL.Host, out.URL.User, out.URL.Fragment = x.target.String(), nil, ""
	if Protocol(out.URL.Scheme).Port() == x.target.Port {
		out.URL.Host = bracketed(x.target.Host)
	}
	for _, name := range []string{"Proxy-Connection", "Proxy-Authorization"} {
		out.Header.Del(name)
	}
	if !strings.EqualFold(out.Header.Get("Upgrade"), "websocket") { // in another protocol, nobody would read the requests
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
	}
	scrub, refused := p.secrets.put(ctx, out, x.entries)
	if refused != nil {
		refused.Target = x.target
		return refused
	}
	if refused := x.countHead(out); refused != nil {
		return refused
	}
	if x.scrub = scrub; len(scrub) > 0 {
		out.Header.Del("Range") // of a part of the secret nobody knows that it is one
		out.Header.Del("If-Range")
		out.Header.Set("Accept-Encoding", "identity") // an answer that repeats the secret must be readable
		out = out.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.event.Credential = true }}))
	}
	if out.Body != nil && out.Body != http.NoBody {
		body := &metered{p.secrets.guard(out.Body, x.target), p.budget, x.target, &x.sent}
		out.Body = struct {
			io.Reader
			io.Closer
		}{body, out.Body}
	}
	res, err := p.transport.RoundTrip(out)
	if err != nil {
		return p.failure(x.target, err, x.event)
	}
	x.event.Status = res.StatusCode
	if coding := res.Header.Get("Content-Encoding"); len(scrub) > 0 && coding != "" && coding != "identity" {
		res.Body.Close()
		return &Refusal{Check: ByCredential, Target: x.target, Reason: "the answer is compressed, so mcprun cannot see whether it repeats the secret"}
	}
	if x.event.Allowed = true; len(scrub) > 0 {
		bare := *res // the transport sets the trailers of its own when the body ends
		res = &bare
		res.Status, res.Trailer = fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode)), nil
		res.Header.Del("Trailer")
	}
	for name, values := range res.Header {
		for i := range values {
			res.Header[name][i] = scrubbed(values[i], scrub)
		}
	}
	received := &metered{scrubber(res.Body, scrub), p.budget, x.target, &x.received}
	x.response = res
	if both, ok := res.Body.(io.ReadWriteCloser); ok && res.StatusCode == http.StatusSwitchingProtocols {
		res.Body = &upgraded{body{received, both, x}, both}
	} else {
		res.Body = &body{received, res.Body, x}
	}
	return nil
}

// countHead counts the head of a request, which carries data like a body.
func (x *exchange) countHead(r *http.Request) *Refusal {
	n := len(r.Method) + len(r.URL.RequestURI())
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	x.sent.Add(int64(n))
	over, _ := errors.AsType[*Refusal](x.p.budget.add(x.target, n))
	return over
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// end emits the event of the request, once.
func (x *exchange) end(refused *Refusal) {
	x.once.Do(func() {
		defer x.p.work.Done()
		if x.cancel != nil {
			defer x.cancel()
		}
		x.event.Sent, x.event.Received = x.sent.Load(), x.received.Load()
		if refused != nil {
			x.p.emitRefused(x.event, refused)
			return
		}
		if x.over != nil {
			x.event.Error = x.over.Reason
		}
		x.p.emit(*x.event)
	})
}

// dialRequest dials for the transport.
func (p *Proxy) dialRequest(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := ParseTarget(address, 0)
	if err != nil {
		return nil, err
	}
	return p.dial(ctx, t)
}

// body is the body of a response. Its end is that of the exchange.
type body struct {
	io.Reader
	closer io.Closer
	x      *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	if over, ok := errors.AsType[*Refusal](err); ok {
		b.x.over = over
	}
	if broken, ok := b.x.request.Context().Value(brokenKey{}).(*atomic.Bool); ok {
		broken.Store(true)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.closer.Close()
	b.x.end(nil)
	return err
}

// upgraded is the body of a response that switched protocols, as for WebSocket.
type upgraded struct {
	body
	to io.Writer
}

func (u *upgraded) Write(p []byte) (int, error) {
	n, err := u.to.Write(p)
	u.x.sent.Add(int64(n))
	if over := u.x.p.budget.add(u.x.target, n); over != nil {
		err = over
	}
	return n, err
}

// Close closes the client's connection too, which nobody else closes once it is the client's and the server's.
func (u *upgraded) Close() error {
	if client, ok := u.x.request.Context().Value(clientKey{}).(net.Conn); ok {
		defer client.Close()
	}
	return u.body.Close()
}

// answer returns the response that a script gets instead of a server's. Programs that show no body of a refused CONNECT show the reason phrase.
func answer(r *http.Request, refused *Refusal) *http.Response {
	status := http.StatusForbidden
	text := refused.Error()
	if refused.Check == "" {
		status, text = http.StatusBadGateway, refused.Reason
	}
	line := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, ident.Clip(text, 500))
	res := &http.Response{
		Status: fmt.Sprintf("%d %s", status, line), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"}},
	}
	content := []byte("mcprun: " + text + "\n")
	if refused.Check != "" {
		res.Header.Set("X-Mcprun-Refused", string(refused.Check))
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	return res
}
