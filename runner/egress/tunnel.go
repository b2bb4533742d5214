package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elazarl/goproxy"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// tunnel is a connection that a client has asked for with CONNECT, and whose requests are read.
type tunnel struct {
	*admission
	event  *Event
	scheme string // of the requests in it
}

// connect answers a CONNECT. Only a client's first bytes show which protocol it speaks, so an entry's protocols are checked later. Requests
// over HTTP without TLS are read if nothing else is allowed on the port, or if it is HTTP's own.
func (p *Proxy) connect(hostPort string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	t, err := ParseTarget(hostPort, 443)
	e := p.event(t, t.protocol())
	if err != nil {
		e.Host = ident.Clip(ident.Printable(hostPort, maxHost), maxHost)
		return p.reject(ctx, e, &Refusal{Check: ByTarget, Target: t, Reason: err.Error()})
	}
	a, refused := p.admit(ctx.Req.Context(), t, e.Protocol)
	if refused != nil {
		return p.reject(ctx, e, refused)
	}
	e.Rule, e.By = a.rule, a.by
	if a.readsPlain() || a.inspects() {
		if a.readsPlain() {
			e.Protocol = HTTP
		}
		return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: func(_ *http.Request, client net.Conn, _ *goproxy.ProxyCtx) {
			p.read(client, &tunnel{admission: a, event: e})
		}}, hostPort
	}
	if refused := p.budget.take(t); refused != nil {
		return p.reject(ctx, e, refused)
	}
	server, err := p.dial(ctx.Req.Context(), t)
	if err != nil {
		return p.reject(ctx, e, p.failure(t, err, e))
	}
	e.Address = server.RemoteAddr().String()
	return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: func(r *http.Request, client net.Conn, _ *goproxy.ProxyCtx) {
		if !p.own(client, server) {
			return
		}
		p.work.Go(func() {
			defer p.disown(client, server)
			p.pass(client, server, a, e)
		})
	}}, hostPort
}

// readsPlain reports whether the requests inside a CONNECT are plain HTTP.
func (a *admission) readsPlain() bool {
	if !a.allows(HTTP) || slices.ContainsFunc(a.entries, func(e *entry) bool { return slices.Contains(e.Protocols, string(TCP)) }) {
		return false
	}
	return a.target.Port == 80 || !a.allows(HTTPS) && !a.allows(SSH)
}

// reject answers a CONNECT with a refusal, or with a failure if refused has no check.
func (p *Proxy) reject(ctx *goproxy.ProxyCtx, e *Event, refused *Refusal) (*goproxy.ConnectAction, string) {
	ctx.Resp = answer(ctx.Req, refused)
	ctx.Resp.Close = true
	p.emitRefused(e, refused)
	return goproxy.RejectConnect, ""
}

// failure turns the error of a dial into what a script may see. A check that is empty means that the connection was allowed, but failed.
func (p *Proxy) failure(t Target, err error, e *Event) *Refusal {
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return refused
	}
	p.opt.Logger.Debug("egress", "dial", t.String(), "error", err)
	reason := "cannot connect to " + t.String()
	if notFound, ok := errors.AsType[*net.DNSError](err); ok && notFound.IsNotFound {
		reason = t.Host + " does not exist"
	} else if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		reason += ": it does not answer"
	} else if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		reason = fmt.Sprintf("the certificate of %s is not valid here: %s (authorities that this machine does not have are named by SSL_CERT_FILE, where mcprun starts)", t.Host, ident.Clip(ident.Printable(bad.Err.Error(), maxReason), maxReason))
	}
	return &Refusal{Target: t, Reason: reason}
}

// established answers a CONNECT.
const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// read serves the requests inside a CONNECT.
func (p *Proxy) read(client net.Conn, t *tunnel) {
	if !p.own(client) {
		return
	}
	p.work.Go(func() {
		inner, refused := p.open(client, t)
		if refused == nil && p.listener.give(&readConn{inner, t}) {
			return
		}
		if refused != nil {
			p.emitRefused(t.event, refused)
		}
		p.disown(client)
	})
}

// open answers a CONNECT, and ends the encryption of what the client says if there is any.
func (p *Proxy) open(client net.Conn, t *tunnel) (net.Conn, *Refusal) {
	gone := &Refusal{Check: ByProtocol, Target: t.target, Reason: "the client ended, or said nothing"}
	_ = client.SetDeadline(time.Now().Add(firstTime))
	defer client.SetDeadline(time.Time{})
	if _, err := io.WriteString(client, established); err != nil {
		return nil, gone
	}
	in := bufio.NewReader(client)
	first, err := in.Peek(1)
	if err != nil {
		return nil, gone
	}
	inner := &peekedConn{client, in}
	if t.scheme = "http"; first[0] != handshake {
		return inner, nil
	}
	if p.authority == nil || !t.inspects() {
		return nil, &Refusal{Check: ByProtocol, Target: t.target, Reason: fmt.Sprintf("%s allows no TLS on port %d", t.rule, t.target.Port)}
	}
	t.scheme, t.event.Protocol = "https", HTTPS
	secure := tls.Server(inner, p.authority.serverConfig(t.target))
	err = secure.Handshake() // ended by Close, too
	if other, ok := errors.AsType[serverNameError](err); ok {
		return nil, p.otherName(t.target, string(other))
	}
	if err != nil {
		return nil, &Refusal{Target: t.target, Reason: "the program did not accept the certificate of the run: " + ident.Clip(ident.Printable(err.Error(), maxReason), maxReason)}
	}
	return secure, nil
}

// maxReason bounds an error of a client or server in a reason.
const maxReason = 200

// readConn is a connection whose requests are read, inside a tunnel.
type readConn struct {
	net.Conn
	tunnel *tunnel
}

// peekedConn is a connection of which something was read already.
type peekedConn struct {
	net.Conn
	in *bufio.Reader
}

func (c *peekedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

func (p *Proxy) otherName(t Target, name string) *Refusal {
	return &Refusal{Check: ByProtocol, Target: t, Reason: fmt.Sprintf("the connection is to %s, but its TLS names the server %q", t.Host, ident.Clip(ident.Printable(name, maxHost), maxHost))}
}

// pass passes on a connection unread, once its first bytes show an allowed protocol.
func (p *Proxy) pass(client, server net.Conn, a *admission, e *Event) {
	in := bufio.NewReaderSize(client, 4<<10)
	first, refused := p.first(client, in, a, e)
	if refused != nil {
		p.emitRefused(e, refused)
		return
	}
	e.Allowed = true
	var ends sync.WaitGroup
	var sent, received atomic.Int64
	var over atomic.Pointer[Refusal]
	defer func() {
		e.Sent, e.Received = sent.Load(), received.Load()
		if refused := over.Load(); refused != nil {
			e.Error = refused.Reason
		}
		p.emit(*e)
	}()
	copying := func(to io.Writer, from io.Reader, n *atomic.Int64, end func()) {
		_, err := io.Copy(to, &metered{from, p.budget, a.target, n})
		if refused, ok := errors.AsType[*Refusal](err); ok {
			over.Store(refused)
			client.Close()
			server.Close()
			return
		}
		end()
	}
	ends.Go(func() {
		copying(server, io.MultiReader(first, in), &sent, func() { endWriting(server) })
	})
	copying(client, server, &received, func() { endWriting(client) })
	ends.Wait()
}

// first answers the CONNECT and reads what the client says first.
func (p *Proxy) first(client net.Conn, in *bufio.Reader, a *admission, e *Event) (io.Reader, *Refusal) {
	if _, err := io.WriteString(client, established); err != nil {
		return nil, &Refusal{Check: ByProtocol, Target: a.target, Reason: "the client has gone"}
	}
	if a.allows(TCP) {
		e.Protocol = TCP
		return in, nil
	}
	_ = client.SetReadDeadline(time.Now().Add(firstTime))
	defer client.SetReadDeadline(time.Time{})
	start, err := in.Peek(4)
	switch {
	case err != nil:
		return nil, &Refusal{Check: ByProtocol, Target: a.target, Reason: "the client ended, or said nothing"}
	case string(start) == "SSH-":
		e.Protocol = SSH
		if a.allows(SSH) {
			return in, nil
		}
	case start[0] == handshake:
		e.Protocol = HTTPS
		name, read, err := readHello(in)
		switch {
		case err != nil:
			return nil, &Refusal{Check: ByProtocol, Target: a.target, Reason: "the ClientHello cannot be read"}
		case !names(name, a.target):
			_, _ = client.Write(unrecognizedName)
			return nil, p.otherName(a.target, name)
		case a.allows(HTTPS):
			return bytes.NewReader(read), nil
		}
	default:
		e.Protocol = TCP
	}
	return nil, protocolRefusal(a, e.Protocol)
}

// endWriting ends one direction of a connection, or the connection if it cannot.
func endWriting(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	c.Close()
}
