// Package httpguard decides which HTTP requests reach the MCP endpoint, and for which customer. A [Guard] checks, in
// this order: that the body arrives in time; that Host names this server, against DNS rebinding; that Origin is this
// server's own or was allowed; a browser's cross-origin headers; and the bearer token. A refusal says which option of
// the operator would allow the request. Tokens never appear in answers or logs.
package httpguard

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Headers of the protocol.
const (
	VersionHeader = "Mcp-Protocol-Version"
	SessionHeader = "Mcp-Session-Id"
)

// bodyTime bounds how long the body of a request may take to arrive, from the end of its header. The answer has no bound.
const bodyTime = time.Minute

// Guard describes the requests that are allowed.
type Guard struct {
	// Token returns the customer of a bearer token. Nil: no token is needed, and every request is Customer's.
	Token    func(token string) (customer string, ok bool)
	Customer string
	// Refused is called with a request whose token is not accepted. May be nil.
	Refused func(*http.Request)
	// Hosts are names, without port, that Host may give besides loopback names. Empty: with tokens any name, except on loopback addresses;
	// without tokens loopback names only.
	Hosts []string
	// Origins are the origins of web pages that may send requests, such as https://app.example.com, besides this server's own.
	Origins []string
}

// Handler returns a handler that passes allowed requests to next, which finds the customer with [CustomerOf]. The error
// names a malformed origin.
func (g Guard) Handler(next http.Handler) (http.Handler, error) {
	hosts := make([]string, len(g.Hosts))
	for i, name := range g.Hosts {
		hosts[i] = strings.ToLower(name)
	}
	g.Hosts = hosts
	browsers := http.NewCrossOriginProtection()
	for _, o := range g.Origins {
		if err := browsers.AddTrustedOrigin(o); err != nil {
			return nil, err
		}
	}
	return limitBodyTime(g.checkSource(g.shareResources(browsers.Handler(g.authenticate(next)))), bodyTime), nil
}

// limitBodyTime ends connections whose bodies arrive too slowly, with or without a token.
func limitBodyTime(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			control := http.NewResponseController(w)
			if control.SetReadDeadline(time.Now().Add(limit)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, control: control}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody lifts the deadline at the end of the body, because net/http reads on to notice a client that goes away.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF { //nolint:errorlint // a reader returns this value itself
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// checkSource checks Host and Origin.
func (g *Guard) checkSource(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch origin := r.Header.Get("Origin"); {
		case !g.hostAllowed(r):
			http.Error(w, "forbidden: the Host of the request is not a name of this server; the operator allows names with --allow-host", http.StatusForbidden)
		case origin != "" && !g.originAllowed(origin, r):
			http.Error(w, "forbidden: the Origin of the request is not allowed; the operator allows origins with --allow-origin", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g *Guard) hostAllowed(r *http.Request) bool {
	host := hostName(r.Host)
	if isLoopback(host) || slices.Contains(g.Hosts, host) {
		return true
	}
	return len(g.Hosts) == 0 && g.Token != nil && !arrivedByLoopback(r)
}

// hostName returns a host without its port, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func arrivedByLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(hostName(addr.String()))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (g *Guard) originAllowed(origin string, r *http.Request) bool {
	_, host, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(host, r.Host) || slices.Contains(g.Origins, origin)
}

const (
	allowedHeaders = "Authorization, Content-Type, Accept, Last-Event-ID, " + SessionHeader + ", " + VersionHeader + ", Mcp-Method, Mcp-Name"
	exposedHeaders = SessionHeader + ", " + VersionHeader + ", WWW-Authenticate"
)

// shareResources answers cross-origin requests of browsers (CORS) for the allowed origins. A preflight request carries no
// token, so it is answered here.
func (g *Guard) shareResources(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(g.Origins) > 0 {
			w.Header().Add("Vary", "Origin")
		}
		origin := r.Header.Get("Origin")
		if !slices.Contains(g.Origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", exposedHeaders)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		allowed := allowedHeaders
		for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") { // the newest revision sends parameters as headers
			if name = strings.ToLower(strings.TrimSpace(name)); strings.HasPrefix(name, "mcp-param-") && isHeaderName(name) {
				allowed += ", " + name
			}
		}
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", allowed)
		w.Header().Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

func isHeaderName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

type customerKey struct{}

// CustomerOf returns the customer of an allowed request.
func CustomerOf(r *http.Request) string {
	customer, _ := r.Context().Value(customerKey{}).(string)
	return customer
}

// authenticate checks the bearer token and notes the customer. A refusal names the scheme, as RFC 6750 requires.
func (g *Guard) authenticate(next http.Handler) http.Handler {
	const challenge = "WWW-Authenticate"
	serve := func(w http.ResponseWriter, r *http.Request) {
		customer := g.Customer
		if g.Token != nil {
			customer = auth.TokenInfoFromContext(r.Context()).UserID
		}
		w.Header().Del(challenge)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), customerKey{}, customer)))
	}
	if g.Token == nil {
		return http.HandlerFunc(serve)
	}
	verify := func(_ context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		customer, ok := g.Token(token)
		if !ok {
			if g.Refused != nil {
				g.Refused(r)
			}
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: customer}, nil
	}
	checked := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(http.HandlerFunc(serve))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(challenge, `Bearer realm="mcprun"`)
		checked.ServeHTTP(w, r)
	})
}
