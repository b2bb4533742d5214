package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

const (
	// requestTime bounds one request to an authorization server, maxAnswer metadata in bytes, maxHops redirects.
	requestTime = 20 * time.Second
	maxAnswer   = 1 << 20
	maxHops     = 5
)

// reach is the part of the network that the addresses which a server names may be in: the server's own part, and what
// is public. A server on the internet that names http://10.0.0.1 would use us to look behind a firewall.
type reach int

const (
	reachPublic  reach = iota
	reachPrivate       // the server is in a private network
	reachLocal         // the server is on this machine
)

// network is the HTTP client for discovery, registration and tokens. It refuses redirects to another origin, so that a
// code or a client's secret goes only where the metadata says.
type network struct {
	reach           reach
	direct, proxied *http.Transport
}

// newNetwork makes a client for what the server at this address names.
func newNetwork(ctx context.Context, server string) *network {
	n := &network{reach: reachOf(ctx, server)}
	base := http.Transport{
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: requestTime, MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2: true, IdleConnTimeout: 10 * time.Second,
	}
	n.direct, n.proxied = base.Clone(), base.Clone()
	n.direct.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: n.control}).DialContext
	n.proxied.Proxy = http.ProxyFromEnvironment // the proxy resolves names and guards its own network
	return n
}

func (n *network) client() *http.Client {
	return &http.Client{Transport: n, Timeout: requestTime, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch {
		case req.Method != http.MethodGet || via[0].Method != http.MethodGet:
			return errors.New("it redirects a request that carries credentials, which is refused")
		case req.URL.Scheme != via[0].URL.Scheme || req.URL.Host != via[0].URL.Host:
			return errors.New("it redirects to another origin, which is refused")
		case len(via) > maxHops:
			return fmt.Errorf("it redirects more than %d times", maxHops)
		}
		return nil
	}}
}

// RoundTrip sends one request. Whoever reads the answer bounds it.
func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkAddress(req.URL.String()); err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(strings.Trim(req.URL.Hostname(), "[]")); err == nil && !n.allows(ip) {
		return nil, errPrivate(ip)
	}
	next := n.direct
	if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
		next = n.proxied
	}
	return next.RoundTrip(req)
}

// close drops idle connections.
func (n *network) close() {
	n.direct.CloseIdleConnections()
	n.proxied.CloseIdleConnections()
}

// control checks the address that a name was resolved to, just before it is dialled, so that the name cannot change
// between the check and its use.
func (n *network) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.New("the address is not an IP address")
	}
	if !n.allows(at.Addr()) {
		return errPrivate(at.Addr())
	}
	return nil
}

func errPrivate(ip netip.Addr) error {
	return fmt.Errorf("the address %s is inside a network that the MCP server is not in, which is refused", ip)
}

func (n *network) allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return n.reach == reachLocal
	case ip.IsPrivate():
		return n.reach != reachPublic
	}
	return isPublic(ip)
}

// reservedPrefixes returns the ranges that are neither private nor public: shared, for documentation and benchmarks, and
// those that lead back into IPv4.
func reservedPrefixes() []string {
	return []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001:db8::/32", "2002::/16", "fec0::/10",
	}
}

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range reservedPrefixes() {
		if netip.MustParsePrefix(p).Contains(ip) {
			return false
		}
	}
	return true
}

// reachOf returns where the server itself is. A name that cannot be resolved counts as public.
func reachOf(ctx context.Context, address string) reach {
	u, err := url.Parse(address)
	if err != nil {
		return reachPublic
	}
	host := u.Hostname()
	if isLoopbackName(host) {
		return reachLocal
	}
	var ips []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		ips = []netip.Addr{ip}
	} else {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		ips, _ = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	out := reachPublic
	for _, ip := range ips {
		switch ip = ip.Unmap(); {
		case ip.IsLoopback(): // a public name of this machine gives no access to it
		case ip.IsPrivate():
			out = reachPrivate
		}
	}
	return out
}

// isLoopbackName reports whether a host can only be this machine.
func isLoopbackName(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// checkAddress refuses an address that credentials or a person's browser must not go to.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("%q is not an address", ident.Printable(address, 200))
	case u.User != nil:
		return fmt.Errorf("the address %q holds a user name, which is refused", ident.Printable(u.Redacted(), 200))
	case u.Scheme == "https", u.Scheme == "http" && isLoopbackName(u.Hostname()):
		return nil
	}
	return fmt.Errorf("the address %q is not https", ident.Printable(u.Scheme+"://"+u.Host, 200))
}

// plain drops the address from an error of net/http: it may hold a secret, and the caller names the place.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return ident.Printable(err.Error(), 300)
}
