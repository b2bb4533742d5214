package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Challenge is what a server's WWW-Authenticate header asks for; it may be zero.
type Challenge struct {
	// Metadata is the address of the protected resource metadata; empty means the well-known one.
	Metadata string
	// Scopes are the scopes that the request needs.
	Scopes []string
	// InsufficientScope says that the token is valid but does not cover the request.
	InsufficientScope bool
}

// ParseChallenge reads the WWW-Authenticate headers of a 401 or 403 (RFC 9110, RFC 6750, RFC 9728). Headers that cannot be
// read are ignored.
func ParseChallenge(h http.Header) Challenge {
	var c Challenge
	challenges, _ := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	for _, ch := range challenges {
		if ch.Scheme != "bearer" {
			continue
		}
		if c.Metadata == "" {
			c.Metadata = ch.Params["resource_metadata"]
		}
		c.Scopes = union(c.Scopes, strings.Fields(ident.Printable(ch.Params["scope"], 4<<10)))
		c.InsufficientScope = c.InsufficientScope || ch.Params["error"] == "insufficient_scope"
	}
	return c
}

// discovery is the result of discover: who gives tokens for the server, and how.
type discovery struct {
	resource string
	scopes   []string // that the server accepts
	auth     *oauthex.AuthServerMeta
	// described says that the server has metadata; without it the endpoints are those of revision 2025-03-26.
	described bool
}

// discover finds the authorization server of a server.
func (n *network) discover(ctx context.Context, server Server, c Challenge) (*discovery, error) {
	at, err := url.Parse(server.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	at.Fragment, at.User = "", nil
	prm, err := n.resourceMetadata(ctx, at, c.Metadata)
	if err != nil {
		return nil, err
	}
	out := &discovery{resource: server.Resource, described: prm != nil}
	if prm == nil {
		prm = &oauthex.ProtectedResourceMetadata{Resource: at.String(), AuthorizationServers: []string{server.origin()}}
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
		return nil, fmt.Errorf("read the metadata of the authorization server %q: %s", ident.Printable(issuer, 200), plain(err))
	}
	if out.auth == nil { // the defaults of revision 2025-03-26
		base := strings.TrimSuffix(issuer, "/")
		out.auth = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
		}
	} else {
		out.described = true
	}
	endpoints := []string{out.auth.TokenEndpoint}
	if !server.ByClient {
		endpoints = append(endpoints, out.auth.AuthorizationEndpoint)
	}
	for _, at := range endpoints {
		if err := checkAddress(at); err != nil {
			return nil, fmt.Errorf("the authorization server %q: %w", ident.Printable(issuer, 200), err)
		}
	}
	return out, nil
}

// resourceMetadata returns the protected resource metadata of the server, nil if it has none. They are at the address that
// the server named, or at a well-known one (RFC 9728, section 3). Metadata of another resource is an error: the server
// would get tokens for that resource.
func (n *network) resourceMetadata(ctx context.Context, server *url.URL, named string) (*oauthex.ProtectedResourceMetadata, error) {
	root := &url.URL{Scheme: server.Scheme, Host: server.Host, Path: "/.well-known/oauth-protected-resource"}
	below := root.JoinPath(server.EscapedPath())
	below.RawQuery = server.RawQuery
	var failed error
	for _, place := range []string{named, below.String(), root.String()} {
		if place == "" {
			continue
		}
		prm, err := n.getMetadata(ctx, place)
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("read its metadata: %s", plain(err)))
		case prm == nil: // not there
		case !covers(prm.Resource, server):
			return nil, fmt.Errorf("its metadata is that of another resource, %q, which is refused", ident.Printable(prm.Resource, 200))
		case len(prm.AuthorizationServers) == 0:
			return nil, errors.New("its metadata names no authorization server")
		default:
			return prm, nil
		}
	}
	return nil, failed
}

// getMetadata gets one document, nil if there is none.
func (n *network) getMetadata(ctx context.Context, at string) (*oauthex.ProtectedResourceMetadata, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := n.client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500:
		return nil, fmt.Errorf("the answer is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	case resp.StatusCode != http.StatusOK, media != "application/json":
		return nil, nil // such as a web page for every address
	}
	prm := &oauthex.ProtectedResourceMetadata{}
	return prm, json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(prm)
}

// covers reports whether a resource identifier stands for a server: it is the server's address or, as with many servers,
// one above it at the same origin.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.Fragment != "" || !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) {
		return false
	}
	if r.RawQuery != "" && r.RawQuery != server.RawQuery {
		return false
	}
	above := strings.TrimSuffix(r.EscapedPath(), "/")
	return above == "" || server.EscapedPath() == above || strings.HasPrefix(server.EscapedPath(), above+"/")
}
