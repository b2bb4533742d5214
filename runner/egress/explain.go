package egress

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Explanation says what would happen to a request.
type Explanation struct {
	Target Target
	// Rule is the entry that allows it, with its place. Ask says that a person would be asked instead.
	Rule string
	Ask  bool
	// Inspects says that mcprun would read the request, and Credentials are the headers that it would put in.
	Inspects    bool
	Credentials []Credential
	// Refused is why it would be refused; nil if it would not. Whether a name resolves to an address that is blocked shows only when it is dialled.
	Refused *Refusal
}

// Credential is a secret that would be put into a header.
type Credential struct {
	Header string
	Secret *config.Secret
}

// Explain says what would happen to a request, or to a connection if the URL is tcp://HOST:PORT or ssh://HOST. It connects
// to nothing.
func (r *Rules) Explain(method, address string) *Explanation {
	u, err := url.Parse(address)
	if err == nil && u.Host == "" {
		u, err = url.Parse("https://" + address)
	}
	if err != nil {
		return &Explanation{Refused: &Refusal{Check: ByTarget, Reason: "this is not a URL"}}
	}
	protocol := Protocol(strings.ToLower(u.Scheme))
	if over, ok := map[Protocol]Protocol{"wss": HTTPS, "ws": HTTP}[protocol]; ok {
		protocol = over
	}
	if !slices.Contains([]Protocol{HTTPS, HTTP, SSH, TCP}, protocol) {
		return &Explanation{Refused: &Refusal{Check: ByProtocol, Reason: "protocols are https, http, ssh and tcp"}}
	}
	t, err := ParseTarget(u.Host, protocol.Port())
	out := &Explanation{Target: t}
	if err != nil || t.Port == 0 {
		out.Refused = &Refusal{Check: ByTarget, Target: t, Reason: "the host or port is missing or cannot be read"}
		return out
	}
	p := &Proxy{opt: Options{Rules: r}}
	if out.Refused = p.check(t); out.Refused != nil {
		return out
	}
	entries, refused := r.find(t, protocol)
	if refused != nil {
		if out.Ask = r.asks(t); !out.Ask {
			out.Refused = refused
		}
		return out
	}
	a := &admission{target: t, entries: entries, rule: r.rule(entries[0])}
	out.Rule, out.Inspects = a.rule, a.inspects()
	if out.Inspects || protocol == HTTP {
		x := &exchange{p: p, request: &http.Request{Method: method, URL: u}, event: &Event{Method: method, Path: u.EscapedPath()}}
		if out.Refused = x.choose(a, protocol); out.Refused != nil {
			return out
		}
		for _, e := range x.entries {
			out.Rule = r.rule(x.entries[0])
			for _, c := range e.Credentials {
				name, _ := (&credential{Credential: &c}).fill()
				out.Credentials = append(out.Credentials, Credential{Header: name, Secret: &c.Secret})
			}
		}
	} else if !a.allows(protocol) {
		out.Refused = protocolRefusal(a, protocol)
	}
	return out
}
