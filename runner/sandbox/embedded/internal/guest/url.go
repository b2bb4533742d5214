package guest

import (
	"fmt"

	"github.com/nlnwa/whatwg-url/url"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// parseURL(text, base?) parses a URL as the WHATWG URL standard says, and returns its parts, or undefined if it is invalid.
func (g *guest) parseURL(a args) (engine.Value, error) {
	u, err := url.ParseRef(baseOf(a), a.text(0))
	if err != nil {
		return engine.Undefined(), nil
	}
	return g.urlParts(u), nil
}

func baseOf(a args) string {
	if a.value(1).IsUndefined() {
		return ""
	}
	return a.text(1)
}

// setURL(href, part, text) changes one part of a valid URL, and returns the parts. Text that is invalid for that part changes nothing.
func (g *guest) setURL(a args) (engine.Value, error) {
	u, err := url.Parse(a.text(0))
	if err != nil {
		return engine.Value{}, err
	}
	set := map[string]func(string){
		"protocol": u.SetProtocol, "username": u.SetUsername, "password": u.SetPassword, "host": u.SetHost, "hostname": u.SetHostname,
		"port": u.SetPort, "pathname": u.SetPathname, "search": u.SetSearch, "hash": u.SetHash,
	}[a.text(1)]
	if set == nil {
		return engine.Value{}, fmt.Errorf("a URL has no part %q", a.text(1))
	}
	set(a.text(2))
	return g.urlParts(u), nil
}

func (g *guest) urlParts(u *url.Url) engine.Value {
	var items []engine.Value
	for _, s := range []string{u.Href(false), u.Protocol(), u.Username(), u.Password(), u.Hostname(), u.Port(), u.Pathname(), u.Search(), u.Hash()} {
		items = append(items, g.vm.String(s))
	}
	return g.vm.Array(items...)
}
