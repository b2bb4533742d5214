package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Challenge is what a server's WWW-Authenticate header asks for; the zero value asks for nothing in particular.
type Challenge struct {
	// Metadata is the address of the protected resource metadata; empty: the well-known one.
	Metadata string
	// Scopes are those the request would have needed.
	Scopes []string
	// InsufficientScope says that the token was good and did not cover the request.
	InsufficientScope bool
}

// ParseChallenge reads the WWW-Authenticate headers of a 401 or 403 (RFC 9110, RFC 6750, RFC 9728). What cannot be read
// is left out.
func ParseChallenge(h http.Header) Challenge {
	var c Challenge
	for _, line := range h.Values("WWW-Authenticate") {
		if len(line) > 8<<10 {
			continue
		}
		challenges, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			continue
		}
		for _, ch := range challenges {
			if ch.Scheme != "bearer" {
				continue
			}
			if c.Metadata == "" {
				c.Metadata = ch.Params["resource_metadata"]
			}
			c.Scopes = union(c.Scopes, strings.Fields(printable(ch.Params["scope"], 4<<10)))
			c.InsufficientScope = c.InsufficientScope || ch.Params["error"] == "insufficient_scope"
		}
	}
	return c
}

// site is what discovery found: who gives tokens for the server, and how.
type site struct {
	resource string
	scopes   []string // that the server takes
	auth     *oauthex.AuthServerMeta
	// described says that the server has metadata; without it everything is guessed, as servers of 2025-03-26 need.
	described bool
}

// discover finds the authorization server of a server.
func (n *network) discover(ctx context.Context, server Server, c Challenge) (*site, error) {
	prm, err := n.resourceMetadata(ctx, server.URL, c.Metadata)
	if err != nil {
		return nil, err
	}
	out := &site{resource: server.Resource, described: prm != nil}
	if prm == nil {
		u, err := url.Parse(server.URL)
		if err != nil {
			return nil, errors.New("its url cannot be read")
		}
		u.Fragment = ""
		prm = &oauthex.ProtectedResourceMetadata{Resource: u.String(), AuthorizationServers: []string{u.Scheme + "://" + u.Host}}
	}
	if out.resource == "" {
		out.resource = prm.Resource
	}
	out.scopes = prm.ScopesSupported
	issuer := prm.AuthorizationServers[0]
	if err := checkAddress(issuer); err != nil {
		return nil, fmt.Errorf("its authorization server: %w", err)
	}
	if out.auth, err = auth.GetAuthServerMetadata(ctx, issuer, n.client()); err != nil {
		return nil, fmt.Errorf("read the metadata of the authorization server %q: %s", printable(issuer, 200), plain(err))
	}
	if out.auth == nil { // as 2025-03-26 says
		base := strings.TrimSuffix(issuer, "/")
		out.auth = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
		}
	} else {
		out.described = true
	}
	for _, at := range []string{out.auth.AuthorizationEndpoint, out.auth.TokenEndpoint} {
		if err := checkAddress(at); err != nil {
			return nil, fmt.Errorf("the authorization server %q: %w", printable(issuer, 200), err)
		}
	}
	return out, nil
}

// resourceMetadata returns what the server says of itself as a protected resource, nil when it says nothing. Metadata
// of another resource is an error: it would get tokens for it.
func (n *network) resourceMetadata(ctx context.Context, server, named string) (*oauthex.ProtectedResourceMetadata, error) {
	places, err := metadataPlaces(server, named)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, place := range places {
		prm, err := n.getMetadata(ctx, place)
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case prm == nil: // not there
		case !covers(prm.Resource, server):
			return nil, fmt.Errorf("its metadata is that of another resource, %q, which is refused", printable(prm.Resource, 200))
		case len(prm.AuthorizationServers) == 0:
			return nil, errors.New("its metadata names no authorization server")
		default:
			return prm, nil
		}
	}
	return nil, failed
}

// metadataPlaces are the addresses where protected resource metadata may be, the likeliest first (RFC 9728, section 3).
func metadataPlaces(server, named string) ([]string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	u.Fragment, u.User = "", nil
	const wellKnown = "/.well-known/oauth-protected-resource"
	var places []string
	if named != "" {
		places = append(places, named)
	}
	root := *u
	root.Path, root.RawPath, root.RawQuery = wellKnown, "", ""
	if path := strings.TrimLeft(u.Path, "/"); path != "" {
		below := *u
		below.Path, below.RawPath = wellKnown+"/"+path, ""
		places = append(places, below.String())
	}
	return append(places, root.String()), nil
}

// getMetadata fetches one document; nil when there is none.
func (n *network) getMetadata(ctx context.Context, at string) (*oauthex.ProtectedResourceMetadata, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, errors.New("the address of its metadata cannot be read")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := n.client().Do(req)
	if err != nil {
		return nil, fmt.Errorf("read its metadata: %s", plain(err))
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500:
		return nil, fmt.Errorf("read its metadata: the answer is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	case resp.StatusCode != http.StatusOK, media != "application/json":
		return nil, nil // a web page for whatever was asked is as good as nothing
	}
	var prm oauthex.ProtectedResourceMetadata
	if err := json.NewDecoder(resp.Body).Decode(&prm); err != nil {
		return nil, fmt.Errorf("read its metadata: %s", plain(err))
	}
	return &prm, nil
}

// covers reports whether a resource identifier stands for the server at an address: the same, or one above it at the
// same origin, as many servers say.
func covers(resource, server string) bool {
	r, err := url.Parse(resource)
	s, err2 := url.Parse(server)
	if err != nil || err2 != nil || r.Host == "" || r.Fragment != "" {
		return false
	}
	if !strings.EqualFold(r.Scheme, s.Scheme) || !strings.EqualFold(r.Host, s.Host) {
		return false
	}
	if r.RawQuery != "" && r.RawQuery != s.RawQuery {
		return false
	}
	above := strings.TrimSuffix(r.EscapedPath(), "/")
	return above == "" || s.EscapedPath() == above || strings.HasPrefix(s.EscapedPath(), above+"/")
}
