package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Target is a host and port that a script wants to connect to. The host is in its usual form: a name in lower case and ASCII without a final
// dot, or an IP address without brackets.
type Target struct {
	Host string
	Port int

	address netip.Addr // if the host is an address
	odd     bool       // the host was written in a form that programs read in different ways
}

// String returns HOST:PORT.
func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(t.Port)) }

// protocol is what is usually spoken at the target's port.
func (t Target) protocol() Protocol {
	for _, p := range []Protocol{HTTPS, HTTP, SSH} {
		if p.Port() == t.Port {
			return p
		}
	}
	return TCP
}

// maxHost bounds the length of a host's name in bytes (RFC 1035).
const maxHost = 253

// ParseTarget reads HOST:PORT; without a port it is the given one. Addresses in decimal, octal and hexadecimal are read as browsers do (WHATWG URL).
func ParseTarget(text string, port int) (Target, error) {
	host := text
	if h, p, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return Target{}, fmt.Errorf("%.20q is no port", p)
		}
		host, port = h, int(n)
	}
	bad := fmt.Errorf("%.100q is not the name of a host", host)
	if host == "" || len(host) > 4*maxHost || strings.ContainsAny(host, "/\\?#@%\x00 \t\r\n") {
		return Target{}, bad
	}
	written := host
	if strings.Contains(host, ":") {
		written = "[" + strings.Trim(host, "[]") + "]"
	}
	u, err := whatwg.Parse("http://" + written + "/")
	if err != nil || u.Hostname() == "" || len(u.Hostname()) > maxHost+1 {
		return Target{}, bad
	}
	name := strings.TrimSuffix(strings.Trim(u.Hostname(), "[]"), ".")
	t := Target{Host: name, Port: port}
	if ip, err := netip.ParseAddr(name); err == nil {
		t.address, t.Host = ip.Unmap(), ip.Unmap().String()
		t.odd = t.Host != strings.Trim(strings.TrimSuffix(strings.ToLower(host), "."), "[]") && !strings.Contains(host, ":")
		return t, nil
	}
	if name == "" || strings.Contains(name, "..") || strings.HasPrefix(name, ".") {
		return Target{}, bad
	}
	return t, nil
}

// guardian refuses addresses in special ranges (the IANA registries), and Azure's services for its machines, at any port.
var guardian = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

// blocked returns why an address is never connected to, or nil.
func blocked(ip netip.Addr) error { return guardian.SafeAddr(ip.Unmap()) }

// isLocal reports whether a name is one of this machine, which is not looked up (RFC 6761).
func isLocal(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "localhost.localdomain" || name == "ip6-localhost" || name == "ip6-loopback"
}
