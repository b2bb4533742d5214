package egress

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"github.com/elazarl/goproxy"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Options configure a Proxy.
type Options struct {
	// Run is the run's id, for events.
	Run string
	// Rules decide where it may connect to. Nil: nowhere.
	Rules *Rules
	// Secret returns the secret of a credential. It is called at most once for each credential. Nil: requests that need one are refused.
	Secret func(ctx context.Context, s *config.Secret) (string, error)
	// Ask asks a person about a target that no entry allows, if the rules say so. It returns who allowed it, or an error that says why not.
	// Nil: nobody can be asked.
	Ask func(ctx context.Context, t Target) (by string, err error)
	// Dials is called before the proxy connects to a target that is allowed. An error refuses it. May be nil.
	Dials func(ctx context.Context) error
	// Watch is called with each event, Alert with each alert, one at a time. They must return soon. May be nil.
	Watch func(Event)
	Alert func(Alert)
	// QuietRanges raises no alert for connections to blocked ranges.
	QuietRanges bool
	// Volume is the number of bytes to and from one host from which on they are unusual. Zero: DefaultVolume. Negative: none is.
	Volume int64
	// Resolver looks names up. Nil: the system's.
	Resolver *net.Resolver
	// Roots are the authorities of servers whose TLS is inspected. Nil: the system's.
	Roots *x509.CertPool
	// ConnectTo replaces what is dialled, HOST:PORT by ADDRESS:PORT, also by addresses that are otherwise refused. It is for tests with servers on
	// this machine; no configuration may set it.
	ConnectTo map[string]string
	// Logger gets errors that a script must not see. Nil: discarded.
	Logger *slog.Logger
}

// Proxy is the way out for one run. It is safe for concurrent use.
type Proxy struct {
	opt       Options
	http      *goproxy.ProxyHttpServer
	server    *http.Server
	listener  *listener
	transport *http.Transport
	authority *authority // nil: no entry inspects
	secrets   *secrets
	budget    *budget

	ctx  context.Context // ends with the proxy
	stop context.CancelFunc

	mu     sync.Mutex
	conns  map[net.Conn]bool // hijacked connections, from both sides
	closed bool
	work   sync.WaitGroup // what runs on hijacked connections
	asked  map[Target]*question

	watching sync.Mutex // calls of Watch and Alert
	alerted  map[string]bool
}

// New returns a proxy, which serves the connections that [Proxy.Serve] gets. The caller must close it.
func New(opt Options) (*Proxy, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Volume == 0 {
		opt.Volume = DefaultVolume
	}
	p := &Proxy{opt: opt, listener: newListener(), conns: map[net.Conn]bool{}, asked: map[Target]*question{}, alerted: map[string]bool{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.budget = &budget{rate: DefaultRate, bytes: DefaultBytes, volume: opt.Volume, unusual: p.unusual, hosts: map[string]*usage{}}
	if opt.Rules != nil {
		p.budget.rate, p.budget.bytes = opt.Rules.rate, opt.Rules.bytes
	}
	p.secrets = newSecrets(opt.Rules, opt.Secret)
	if opt.Rules.inspects() {
		var err error
		if p.authority, err = newAuthority(); err != nil {
			return nil, err
		}
	}
	p.transport = &http.Transport{
		DialContext: p.dialRequest, TLSClientConfig: clientTLS(opt.Roots), TLSHandshakeTimeout: dialTime,
		DisableCompression: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, ResponseHeaderTimeout: 0, ForceAttemptHTTP2: false,
	}
	p.http = goproxy.NewProxyHttpServer()
	p.http.Logger = debugLogger{opt.Logger}
	p.http.Tr = p.transport
	p.http.ConnectDial = nil // it would read the proxy variables of this process
	p.http.KeepAcceptEncoding = true
	p.http.NonproxyHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "this is the proxy of the sandbox: programs reach it through HTTP_PROXY and HTTPS_PROXY", http.StatusBadRequest)
	})
	p.http.OnRequest().HandleConnectFunc(p.connect)
	p.http.OnRequest().DoFunc(func(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		ctx.RoundTripper = goproxy.RoundTripperFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
			return p.roundTrip(r), nil
		})
		return r, nil
	})
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.handle), ReadHeaderTimeout: time.Minute, MaxHeaderBytes: maxHead,
		ErrorLog: slog.NewLogLogger(opt.Logger.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return p.ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx = context.WithValue(ctx, clientKey{}, c)
			if c, ok := c.(*readConn); ok {
				return context.WithValue(ctx, tunnelKey{}, c.tunnel)
			}
			return ctx
		},
	}
	go p.server.Serve(p.listener)
	return p, nil
}

// maxHead bounds the head of a request in bytes.
const maxHead = 1 << 20

// Keys of values in the contexts of requests: the client's connection, the tunnel that a request came through, and whether its response broke off.
type (
	clientKey struct{}
	tunnelKey struct{}
	brokenKey struct{}
)

// handle handles a request to the proxy, or one inside a tunnel.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	if via, ok := r.Context().Value(tunnelKey{}).(*tunnel); ok {
		if r.Method == http.MethodConnect {
			http.Error(w, "this is the connection to "+via.target.String()+", which is no proxy", http.StatusBadRequest)
			return
		}
		r.URL.Scheme, r.URL.Host = via.scheme, cmp.Or(r.Host, via.target.String())
	}
	broken := new(atomic.Bool)
	p.http.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), brokenKey{}, broken)))
	if broken.Load() {
		panic(http.ErrAbortHandler) // the client must not take the part that it has for the whole
	}
}

// roundTrip makes a request for goproxy.
func (p *Proxy) roundTrip(r *http.Request) *http.Response {
	via, _ := r.Context().Value(tunnelKey{}).(*tunnel)
	res := p.request(r, via)
	if hasBody := r.Method != http.MethodHead && res.StatusCode >= 200 && res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusNotModified; hasBody && res.ContentLength < 0 {
		res.Header.Set("Transfer-Encoding", "chunked") // goproxy passes on the parts of such a response as they come
	}
	return res
}

// debugLogger passes goproxy's messages, which quote what a script sent, to a log at its lowest level.
type debugLogger struct{ log *slog.Logger }

func (l debugLogger) Printf(format string, v ...any) {
	l.log.Debug("egress", "said", strings.TrimSpace(fmt.Sprintf(format, v...)))
}

// Serve takes over a connection of the sandbox, on which a program speaks to the proxy. It returns at once.
func (p *Proxy) Serve(conn net.Conn) {
	c := &served{Conn: conn, proxy: p}
	if !p.own(c) || !p.listener.give(c) {
		c.Close()
	}
}

// served is a connection of the sandbox. Once it is closed, the proxy forgets it.
type served struct {
	net.Conn
	proxy *Proxy
}

func (c *served) Close() error {
	c.proxy.mu.Lock()
	delete(c.proxy.conns, c)
	c.proxy.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends what the sandbox reads.
func (c *served) CloseWrite() error {
	endWriting(c.Conn)
	return nil
}

// Do makes one request for a script that has no sockets, without following redirects. It never fails: a refusal is a response with status 403,
// a failure one with 502. The caller must close the body.
func (p *Proxy) Do(r *http.Request) *http.Response {
	r.Header.Del("Upgrade") // there is no connection to continue on
	return p.request(r, nil)
}

// Close ends all connections, and waits until nothing of them is left.
func (p *Proxy) Close() {
	p.stop()
	p.mu.Lock()
	p.closed = true
	conns := slices.Collect(maps.Keys(p.conns))
	p.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	p.server.Close() // now: TLS says goodbye first, which a client that does not read would block
	p.work.Wait()
	p.transport.CloseIdleConnections()
}

// own notes connections that no server of net/http closes, so that Close can. It returns false if the proxy is closed.
func (p *Proxy) own(conns ...net.Conn) bool {
	p.mu.Lock()
	closed := p.closed
	for _, c := range conns {
		if !closed {
			p.conns[c] = true
		}
	}
	p.mu.Unlock()
	if closed {
		for _, c := range conns {
			c.Close()
		}
	}
	return !closed
}

// begin counts something that Close waits for, until done is called. It returns false if the proxy is closed.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Add(1)
	}
	return !p.closed
}

// disown closes connections that were noted.
func (p *Proxy) disown(conns ...net.Conn) {
	for _, c := range conns {
		c.Close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}
}

// admission is what allows a connection.
type admission struct {
	target  Target
	entries []*entry
	rule    string
	by      string
}

func (a *admission) inspects() bool { return slices.ContainsFunc(a.entries, (*entry).inspects) }

// allows reports whether a protocol is allowed. A person who was asked has allowed what can be checked, so not any protocol.
func (a *admission) allows(p Protocol) bool {
	return a.entries == nil && p != TCP || slices.ContainsFunc(a.entries, func(e *entry) bool { return e.allows(p) })
}

// admit judges a target: its address, the allow list, and a person if the rules say so. The rate is the caller's to count. The protocol is
// for the suggestion in a refusal.
func (p *Proxy) admit(ctx context.Context, t Target, protocol Protocol) (*admission, *Refusal) {
	if refused := p.check(t); refused != nil {
		return nil, refused
	}
	entries, refused := p.opt.Rules.find(t, protocol)
	if refused == nil {
		return &admission{target: t, entries: entries, rule: p.opt.Rules.rule(entries[0])}, nil
	}
	if !p.opt.Rules.asks(t) {
		return nil, refused
	}
	by, err := "", errors.New("nobody can be asked here ("+AskRule+")")
	if p.opt.Ask != nil {
		by, err = p.ask(ctx, t)
	}
	if err != nil {
		refused.Reason = fmt.Sprintf("%s, and %v", refused.Reason, err)
		return nil, refused
	}
	return &admission{target: t, rule: AskRule, by: by}, nil
}

// check refuses targets that are blocked whatever the rules say. It looks nothing up.
func (p *Proxy) check(t Target) *Refusal {
	if _, replaced := p.opt.ConnectTo[t.String()]; replaced {
		return nil
	}
	switch {
	case t.address.IsValid():
		if err := blocked(t.address); err != nil {
			return blockedRefusal(t, t.address)
		}
		if t.odd {
			return &Refusal{Check: ByTarget, Target: t, Reason: fmt.Sprintf("the address %s was written in a form that programs read in different ways", t.Host), Remedy: "write it with four decimal numbers"}
		}
	case isLocal(t.Host):
		return &Refusal{Check: ByRange, Target: t, Reason: fmt.Sprintf("%s is this machine, which no script reaches", t.Host)}
	}
	return nil
}

func blockedRefusal(t Target, ip netip.Addr) *Refusal {
	reason := fmt.Sprintf("%s is in a range that no script reaches: private, loopback, link-local, reserved and the like", ip)
	if t.Host != ip.String() {
		reason = t.Host + " resolves to an address that is blocked: " + reason
	}
	return &Refusal{Check: ByRange, Target: t, Reason: reason}
}

// question is a target that a person was asked about.
type question struct {
	done chan struct{}
	by   string
	err  error
}

// maxQuestions bounds the targets of a run that a person is asked about.
const maxQuestions = 50

// ask asks once about each target of the run, however many connections wait for the answer.
func (p *Proxy) ask(ctx context.Context, t Target) (string, error) {
	p.mu.Lock()
	q := p.asked[t]
	if q == nil && len(p.asked) >= maxQuestions {
		p.mu.Unlock()
		return "", fmt.Errorf("the run has asked about %d hosts already", maxQuestions)
	}
	if q == nil {
		q = &question{done: make(chan struct{})}
		p.asked[t] = q
		p.work.Go(func() {
			defer close(q.done)
			q.by, q.err = p.opt.Ask(p.ctx, t)
		})
	}
	p.mu.Unlock()
	select {
	case <-q.done:
		return q.by, q.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// dial connects to an admitted target. What is dialled is judged again, because only now its address is known.
func (p *Proxy) dial(ctx context.Context, t Target) (net.Conn, error) {
	if p.opt.Dials != nil {
		if err := p.opt.Dials(ctx); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	address := t.String()
	if !t.address.IsValid() && strings.Contains(t.Host, ".") {
		address = net.JoinHostPort(t.Host+".", strconv.Itoa(t.Port)) // this very name, without the domains that this machine searches
	}
	var refused atomic.Pointer[Refusal] // addresses of both families are dialled at once
	d := &net.Dialer{Resolver: p.opt.Resolver, Control: func(network, address string, raw syscall.RawConn) error {
		err := guardian.Safe(network, address, raw)
		if errors.Is(err, ssrf.ErrProhibitedIP) {
			at, _ := netip.ParseAddrPort(address)
			refused.Store(blockedRefusal(t, at.Addr()))
			return refused.Load()
		}
		return err
	}}
	if to, replaced := p.opt.ConnectTo[t.String()]; replaced {
		address, d.Control = to, nil
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	if r := refused.Load(); err != nil && r != nil {
		return nil, r
	}
	return conn, err
}

// emit passes on an event, and raises alerts.
func (p *Proxy) emit(e Event) {
	p.watching.Lock()
	defer p.watching.Unlock()
	if p.opt.Watch != nil {
		p.opt.Watch(e)
	}
	if e.Check == ByRange && !p.opt.QuietRanges {
		p.alert(Alert{Kind: string(ByRange), Event: e})
	}
}

// unusual raises the alert for a host with which much was exchanged.
func (p *Proxy) unusual(t Target, bytes int64) {
	p.watching.Lock()
	defer p.watching.Unlock()
	p.alert(Alert{Kind: "volume", Event: Event{Time: time.Now(), Run: p.opt.Run, Host: t.Host, Port: t.Port}, Bytes: bytes})
}

// maxAlerts bounds the alerts of a run. There is one for each host and kind, because a script chooses how often it tries.
const maxAlerts = 20

// alert raises an alert. The caller holds watching.
func (p *Proxy) alert(a Alert) {
	key := a.Kind + " " + a.Event.Host
	if p.opt.Alert == nil || p.alerted[key] || len(p.alerted) >= maxAlerts {
		return
	}
	p.alerted[key] = true
	p.opt.Alert(a)
}

// event begins an event.
func (p *Proxy) event(t Target, protocol Protocol) *Event {
	return &Event{Time: time.Now(), Run: p.opt.Run, Host: t.Host, Port: t.Port, Protocol: protocol}
}

// emitRefused completes and emits the event of a refusal or, if it has no check, of a failure.
func (p *Proxy) emitRefused(e *Event, refused *Refusal) {
	if refused.Check == "" {
		e.Allowed, e.Error = true, refused.Reason
		p.emit(*e)
		return
	}
	e.Check, e.Reason, e.Remedy = refused.Check, refused.Reason, refused.Remedy
	p.emit(*e)
}
