package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/httpclient"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// Connect starts or dials a server and agrees on a protocol version. The server is passed as configured, with its
// variables unexpanded. Their values are kept no longer than this call and the session's process.
//
// If a server does not answer the probe of the newer protocol era in time, the older one is used on the same connection.
// Only a process that ends on the probe is started a second time. ctx bounds connecting only. The caller must Close the
// session.
//
// Errors: a *config.ExpandError for a variable without a value, a *ConnectionError, a *ProtocolError if the server
// refuses the handshake, or the context's error.
func Connect(ctx context.Context, srv config.Server, opts *Options) (*Session, error) {
	s, _, err := connect(ctx, srv, opts.withDefaults(), eraUnknown)
	return s, err
}

// connect connects in the era that is configured or known, or else tries the likeliest one first, and returns the
// server's era.
func connect(ctx context.Context, srv config.Server, opts *Options, known era) (*Session, era, error) {
	expanded, secret, err := redact.Expand(srv, opts.Lookup)
	if err != nil {
		return nil, known, err
	}
	limit := opts.connectTimeout(srv)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w (%s); raise startup_timeout in mcpgen.yaml", errConnectTimeout, config.FormatDuration(limit)))
	defer cancel()
	d := &dialer{
		srv: expanded, opts: opts, errs: errorMaker{server: srv.Key, secret: secret},
		log: opts.Logger.With("server", srv.Key),
	}
	switch srv.Protocol {
	case config.ProtocolModern:
		known = eraModern
	case config.ProtocolLegacy:
		known = eraLegacy
	}
	s, err := d.dial(ctx, known)
	if err != nil && known == eraUnknown && ctx.Err() == nil {
		var refused *ProtocolError
		switch {
		case d.endedOnProbe:
			d.log.Info("the server ends on the probe of the newer protocol; starting it again for the older one")
			s, err = d.dial(ctx, eraLegacy)
		case d.probe.gaveUp.Load() && errors.As(err, &refused): // it knows the newer era only, and was slow to start
			s, err = d.dial(ctx, eraModern)
		}
	}
	switch {
	case err != nil:
		return nil, known, err
	case s.modern():
		return s, eraModern, nil
	}
	return s, eraLegacy, nil
}

// dialer makes the attempts to connect to one server.
type dialer struct {
	srv  config.Server
	opts *Options
	errs errorMaker
	log  *slog.Logger

	probe        *eraProbe // of the last attempt
	endedOnProbe bool      // the process of the last attempt ended without an answer to the probe
}

// dial makes one attempt, and over HTTP a second one with the older transport if the server may speak only that.
func (d *dialer) dial(ctx context.Context, e era) (*Session, error) {
	s, err := d.attempt(ctx, e, d.srv.Transport)
	if err == nil {
		return s, nil
	}
	if d.srv.Transport != config.TransportHTTP || !d.srv.Inferred || !mayBeSSE(s.http.Status()) {
		return nil, err
	}
	d.log.Info("the server refuses streamable HTTP; trying the older SSE transport", "status", s.http.Status())
	if older, sseErr := d.attempt(ctx, eraLegacy, config.TransportSSE); sseErr == nil {
		return older, nil
	}
	return nil, err // streamable HTTP was meant
}

// mayBeSSE reports whether a server that refuses streamable HTTP with a status may speak HTTP+SSE only. A server that
// asks for credentials does not count.
func mayBeSSE(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusTooManyRequests
}

// attempt makes one session. On error it also returns the session, already closed, for its status.
func (d *dialer) attempt(ctx context.Context, e era, transport config.Transport) (_ *Session, err error) {
	// A session outlives ctx, which bounds connecting only, and does not see its values: see whileUp.
	life, end := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer stop()

	in := newInflight(d.srv.Key, d.opts.Elicit, d.log)
	s := &Session{
		end: end, errs: d.errs, log: d.log, opts: d.opts, closed: make(chan struct{}), listing: make(chan struct{}, 1),
		inflight: in, conn: newRawConn(d.log, in), configured: configured(d.srv, d.opts.Lookup),
	}
	defer func() {
		if err != nil {
			s.abandon()
		}
	}()
	d.probe, d.endedOnProbe = &eraProbe{log: d.log}, false
	if e == eraUnknown {
		d.probe.limit = d.opts.ProbeTimeout
	}
	inner, err := d.transport(s, transport)
	if err != nil {
		return s, d.errs.connection(err)
	}
	client := mcp.NewClient(
		&mcp.Implementation{Name: d.opts.ClientName, Version: d.opts.ClientVersion},
		&mcp.ClientOptions{
			Capabilities:   capabilities(d.opts),
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		})
	client.AddSendingMiddleware(d.probe.middleware)
	if err := addTasks(client); err != nil {
		return s, err
	}
	var so *mcp.ClientSessionOptions
	if e == eraLegacy {
		so = &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion}
	}
	s.sdk, err = client.Connect(life, &rawTransport{inner: inner, conn: s.conn}, so)
	if err != nil {
		return s, d.failure(ctx, s, err)
	}
	if !stop() { // ctx ended at the last moment and took the session with it
		return s, d.failure(ctx, s, context.Cause(ctx))
	}
	s.established()
	return s, nil
}

// capabilities are what this client offers to servers.
func capabilities(opts *Options) *mcp.ClientCapabilities {
	out := &mcp.ClientCapabilities{} // nil would offer roots
	out.AddExtension(tasksExtension, nil)
	if opts.Elicit {
		out.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	}
	return out
}

// transport makes the SDK's transport, and starts the process of a stdio server.
func (d *dialer) transport(s *Session, kind config.Transport) (mcp.Transport, error) {
	if kind == config.TransportStdio {
		p, err := stdio.Start(stdio.Options{Server: d.srv, Lookup: d.opts.Lookup, Stderr: d.opts.Stderr(d.srv.Key), Secret: d.errs.secret, Log: d.log})
		if err != nil {
			return nil, err
		}
		s.process, d.probe.starting = p, p.HasUnreadInput
		return connected{p}, nil
	}
	web := httpclient.Options{Server: d.srv, SSE: kind == config.TransportSSE, Version: s.conn.agreedVersion, Challenged: d.opts.challenged}
	switch server := oauthServer(d.srv); {
	case hasCredentials(d.srv):
	case server.ByClient:
		web.Tokens = oauth.NewCredentials(server, d.errs.secret.Add)
	case d.opts.Logins != nil:
		source := d.opts.Logins.Source(server, d.log, d.errs.secret.Add)
		web.Tokens, s.login = source, source.Identity
	}
	var err error
	if s.http, err = httpclient.New(web); err != nil {
		return nil, err
	}
	if web.SSE {
		return &mcp.SSEClientTransport{Endpoint: d.srv.URL, HTTPClient: s.http.HTTP(), MaxEventSize: MaxMessage}, nil
	}
	return &mcp.StreamableClientTransport{
		Endpoint: d.srv.URL, HTTPClient: s.http.HTTP(), MaxEventSize: MaxMessage,
		// The SDK would wait for the head of the stream, which not every server sends at once: see listener.
		DisableStandaloneSSE: true,
		MaxRetries:           2,
	}, nil
}

// connected is a transport over a connection that exists already.
type connected struct{ conn mcp.Connection }

// Connect returns the connection.
func (c connected) Connect(context.Context) (mcp.Connection, error) { return c.conn, nil }

// failure turns the error of a failed attempt into one of ours. It closes the session first: only then is it known how a
// process ended.
func (d *dialer) failure(ctx context.Context, s *Session, err error) error {
	probeIgnored := d.probe.sent.Load() && !s.conn.discovered.Load()
	d.endedOnProbe = probeIgnored && !d.probe.gaveUp.Load() && s.process != nil && s.conn.isLost()
	s.abandon()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errConnectTimeout) && s.process != nil:
		hint := ""
		if probeIgnored {
			hint = "; if it hangs on requests of the newest protocol, set protocol: legacy for it"
		}
		return d.errs.connection(fmt.Errorf("%w%s%s", cause, hint, s.process.RecentStderr()))
	case errors.Is(cause, errConnectTimeout):
		return d.errs.connection(cause)
	case ctx.Err() != nil:
		return interrupted(ctx, fmt.Sprintf("connect to %q", d.errs.server))
	}
	if needed := s.http.LoginNeeded(); needed != nil {
		out := d.errs.connection(needed)
		out.Login = true
		return out
	}
	status := s.http.Status()
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return d.errs.connection(fmt.Errorf("%s; check the headers in its configuration", httpclient.StatusText(status)))
	}
	if refused := s.conn.initializeError.Load(); refused != nil {
		return d.errs.protocol(refused.Code, refused.Message, refused.Data)
	}
	if v := s.conn.agreedVersion(); v != "" && !slices.Contains(mcp.SupportedProtocolVersions(), v) {
		return d.errs.connection(fmt.Errorf("it speaks protocol version %q, which mcpgen does not; update the server, or mcpgen if that version is a newer one", ident.Printable(v, 100)))
	}
	if status != 0 {
		remedy := "check its url"
		if d.srv.Transport == config.TransportHTTP && !d.srv.Inferred && mayBeSSE(status) {
			remedy += `; an older server may need "type": "sse"`
		}
		return d.errs.connection(fmt.Errorf("%s; %s", httpclient.StatusText(status), remedy))
	}
	if d.srv.Transport == config.TransportSSE && strings.HasPrefix(err.Error(), "failed to connect: ") { // the SDK's, with the status
		err = fmt.Errorf(`%w; check its url, and whether it is a server of the older SSE transport: others have "type": "http"`, err)
	}
	if lost := s.lossReason(); lost != nil {
		err = lost
	}
	if refused := s.http.Refused(); refused != nil {
		err = refused
	}
	return d.errs.connection(err)
}
