//go:build !386 && !arm

package guest

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// webURL is an address in the parts that the URL class shows (WHATWG URL). Oddities kept for old pages are left out:
// numeric hosts other than dotted decimal are taken as names.
type webURL struct {
	scheme, user, password, host, port, path string
	query, fragment                          string // with their '?' and '#', or empty
	authority                                bool
}

// defaultPorts are the special schemes, which have hosts and hierarchical paths.
func defaultPorts(scheme string) (port string, special bool) {
	switch scheme {
	case "http", "ws":
		return "80", true
	case "https", "wss":
		return "443", true
	case "ftp":
		return "21", true
	case "file":
		return "", true
	}
	return "", false
}

// parseURL(text, base?) is the native of the URL class.
func (g *guest) parseURL(a args) (engine.Value, error) {
	var base *webURL
	if v := a.value(1); !v.IsUndefined() {
		b, ok := parseWebURL(a.text(1), nil)
		if !ok {
			return engine.Undefined(), nil
		}
		base = b
	}
	u, ok := parseWebURL(a.text(0), base)
	if !ok {
		return engine.Undefined(), nil
	}
	slashes := ""
	if u.authority {
		slashes = "//"
	}
	var items []engine.Value
	for _, s := range []string{u.scheme + ":", u.user, u.password, u.host, u.port, u.path, u.query, u.fragment, slashes} {
		items = append(items, g.vm.String(s))
	}
	return g.vm.Array(items...), nil
}

func parseWebURL(s string, base *webURL) (*webURL, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	u := &webURL{}
	s, fragment, ok := strings.Cut(s, "#")
	if ok && fragment != "" {
		u.fragment = "#" + escape(fragment, " \"<>`")
	}
	scheme, rest, ok := cutScheme(s)
	if !ok {
		if base == nil || base.path != "" && !strings.HasPrefix(base.path, "/") && s != "" {
			return nil, false
		}
		return resolve(s, base, u)
	}
	u.scheme = scheme
	_, special := defaultPorts(scheme)
	if special {
		rest = slashed(rest)
		if base != nil && base.scheme == scheme && !strings.HasPrefix(rest, "/") {
			return resolve(rest, base, u)
		}
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery && query != "" {
		u.query = "?" + escape(query, queryEscapes(special))
	}
	if special && scheme != "file" {
		rest = "//" + strings.TrimLeft(rest, "/")
	}
	if body, ok := strings.CutPrefix(rest, "//"); ok {
		u.authority = true
		end := strings.IndexByte(body, '/')
		if end < 0 {
			end = len(body)
		}
		if !u.setAuthority(body[:end], special) {
			return nil, false
		}
		rest = body[end:]
	}
	u.setPath(rest, special)
	return u, true
}

// slashed turns backslashes before the query into slashes, as special schemes have it.
func slashed(s string) string {
	path, query, ok := strings.Cut(s, "?")
	path = strings.ReplaceAll(path, `\`, "/")
	if ok {
		return path + "?" + query
	}
	return path
}

// resolve fills u from a relative reference.
func resolve(s string, base, u *webURL) (*webURL, bool) {
	fragment := u.fragment
	*u = *base
	u.fragment = fragment
	_, special := defaultPorts(base.scheme)
	if special {
		s = slashed(s)
	}
	if strings.HasPrefix(s, "//") {
		return parseWebURL(base.scheme+":"+s+fragment, nil)
	}
	path, query, hasQuery := strings.Cut(s, "?")
	if hasQuery {
		u.query = ""
		if query != "" {
			u.query = "?" + escape(query, queryEscapes(special))
		}
	} else if path != "" {
		u.query = ""
	}
	switch {
	case strings.HasPrefix(path, "/"):
		u.setPath(path, special)
	case path != "":
		u.setPath(base.path[:strings.LastIndexByte(base.path, '/')+1]+path, special)
	}
	return u, true
}

func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == ':' && i > 0:
			return strings.ToLower(s[:i]), s[i+1:], true
		case isAlnum(c) && (i > 0 || c > '9'), i > 0 && (c == '+' || c == '-' || c == '.'):
		default:
			return "", s, false
		}
	}
	return "", s, false
}

func (u *webURL) setAuthority(s string, special bool) bool {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		const userinfo = " \"#<>?`{}/:;=@[\\]^|"
		user, password, _ := strings.Cut(s[:at], ":")
		u.user, u.password = escape(user, userinfo), escape(password, userinfo)
		s = s[at+1:]
	}
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return false
		}
		if standard, _ := defaultPorts(u.scheme); strconv.FormatUint(n, 10) != standard {
			u.port = strconv.FormatUint(n, 10)
		}
	}
	var ok bool
	u.host, ok = normalHost(host, special)
	return ok && !(special && u.host == "" && u.scheme != "file")
}

func normalHost(host string, special bool) (string, bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !ip.Is6() || ip.Zone() != "" || !strings.HasSuffix(inner, "]") {
			return "", false
		}
		return "[" + ip.String() + "]", true
	}
	if !special {
		return escape(host, " \"<>"), !strings.ContainsAny(host, " #/<>?@[\\]^|")
	}
	if host == "" {
		return "", true
	}
	ascii, err := idna.Lookup.ToASCII(strings.ToLower(unescape(host)))
	if err != nil {
		// Names that IDNA refuses for their form (underscores, hyphens) are in use all the same.
		ascii = strings.ToLower(unescape(host))
	}
	for i := 0; i < len(ascii); i++ {
		if c := ascii[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("#/:<>?@[\\]^|%", c) >= 0 {
			return "", false
		}
	}
	return ascii, true
}

func (u *webURL) setPath(s string, special bool) {
	if !special && !u.authority && !strings.HasPrefix(s, "/") {
		u.path = escape(s, "")
		return
	}
	var parts []string
	segments := strings.Split(strings.TrimPrefix(s, "/"), "/")
	for i, seg := range segments {
		last := i == len(segments)-1
		switch strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(seg, "%2e", "."), "%2E", ".")) {
		case ".":
			if last {
				parts = append(parts, "")
			}
		case "..":
			if len(parts) > 0 {
				parts = parts[:len(parts)-1]
			}
			if last {
				parts = append(parts, "")
			}
		default:
			parts = append(parts, escape(seg, " \"#<>?`{}^"))
		}
	}
	u.path = "/" + strings.Join(parts, "/")
	if s == "" && !special {
		u.path = ""
	}
}

func queryEscapes(special bool) string {
	if special {
		return " \"#<>'"
	}
	return " \"#<>"
}

// escape percent-encodes control characters, everything beyond ASCII, and the characters in set.
func escape(s, set string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f || strings.IndexByte(set, c) >= 0 {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
