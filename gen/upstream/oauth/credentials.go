package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Credentials provides the access token of a server that is used without a person, as in CI: the client proves itself with
// its secret (RFC 6749, section 4.4; MCP's extension oauth-client-credentials). Nothing is stored: who has the secret gets
// another token. It may be used from several goroutines at once.
type Credentials struct {
	server Server
	secret func(value, name string)

	mu      sync.Mutex
	at      *grantPlace // nil until the server has asked for a token
	scopes  []string    // to ask for
	current tokens
}

// grantPlace is where the client's tokens come from.
type grantPlace struct {
	issuer, endpoint, resource string
	network                    string // the address whose part of the network the endpoint may be in
	client                     *identity
}

// NewCredentials returns the source of a server's token. secret is called with every token before it is used, so that it
// can be removed from text.
func NewCredentials(server Server, secret func(value, name string)) *Credentials {
	return &Credentials{server: server, secret: secret}
}

// Describe implements httpclient.Tokens.
func (c *Credentials) Describe() (token, remedy string) {
	return "token of the configured client", "check oauth in its configuration"
}

// Renews reports whether another token may help after a refusal: the first one, another one, or one for more scopes.
func (c *Credentials) Renews(status int, ch Challenge, _ string) bool {
	return status == http.StatusUnauthorized || ch.InsufficientScope && len(ch.Scopes) > 0 && len(c.server.Scopes) == 0
}

// Token returns a token that probably works, "" as long as the server has not asked for one.
func (c *Credentials) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil || c.current.valid(time.Now()) {
		return c.current.Access, nil
	}
	return c.renew(ctx)
}

// Refresh returns another token than the one that the server has just refused with a challenge.
//
// Errors: a *LoginError when the authorization server refuses the client, the context's error, or one that says why no
// token could be asked for.
func (c *Credentials) Refresh(ctx context.Context, refused string, ch Challenge) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Access != refused && c.current.valid(time.Now()) {
		return c.current.Access, nil // renewed meanwhile, for another request
	}
	if c.at == nil {
		if err := c.find(ctx, ch); err != nil {
			return "", err
		}
	} else if ch.InsufficientScope && len(c.server.Scopes) == 0 {
		c.scopes = union(c.scopes, ch.Scopes)
	}
	return c.renew(ctx)
}

// Want does nothing: Refresh asks for scopes that are missing.
func (c *Credentials) Want(context.Context, []string) {}

// find finds the token endpoint, unless it is configured, and what to ask for.
func (c *Credentials) find(ctx context.Context, ch Challenge) error {
	s := c.server
	if s.ClientID == "" || s.ClientSecret == "" {
		return &LoginError{Server: s.Name, Reason: "the grant client_credentials takes a client's id and its secret"}
	}
	if err := checkAddress(s.URL); err != nil {
		return errors.New("its url is not https: tokens would be sent unencrypted")
	}
	who := &identity{known: byConfig, id: s.ClientID, secret: s.ClientSecret, method: methodBasic}
	c.scopes = s.Scopes
	if s.TokenEndpoint != "" {
		if len(c.scopes) == 0 {
			c.scopes = ch.Scopes
		}
		c.at = &grantPlace{issuer: s.TokenEndpoint, endpoint: s.TokenEndpoint, resource: s.Resource, network: s.TokenEndpoint, client: who}
		return checkAddress(s.TokenEndpoint)
	}
	n := newNetwork(ctx, s.URL)
	defer n.close()
	at, err := n.discover(ctx, s, ch)
	if err != nil {
		return fmt.Errorf("%w; token_endpoint (oauth) names the token endpoint without discovery", err)
	}
	c.scopes = scopesFor(s, &discovery{auth: at.auth, scopes: at.scopes}, ch, &login{})
	who.method = configuredMethod(s, at.auth)
	c.at = &grantPlace{issuer: at.auth.Issuer, endpoint: at.auth.TokenEndpoint, resource: at.resource, network: s.URL, client: who}
	return nil
}

// renew gets another token.
func (c *Credentials) renew(ctx context.Context) (string, error) {
	n := newNetwork(ctx, c.at.network)
	defer n.close()
	params := url.Values{"grant_type": {"client_credentials"}}
	if len(c.scopes) > 0 {
		params.Set("scope", strings.Join(c.scopes, " "))
	}
	if c.at.resource != "" {
		params.Set("resource", c.at.resource)
	}
	token, err := n.grant(ctx, c.at.endpoint, c.at.client, params)
	var refused *grantError
	switch {
	case errors.As(err, &refused) && refused.final():
		return "", &LoginError{Server: c.server.Name, Reason: fmt.Sprintf("the authorization server %q refuses the configured client: %v", ident.Printable(c.at.issuer, 200), refused)}
	case err != nil:
		return "", fmt.Errorf("get a token from the authorization server %q: %w", ident.Printable(c.at.issuer, 200), err)
	}
	var l login
	l.apply(token)
	c.secret(l.Access, "access token")
	c.current = l.tokens
	return l.Access, nil
}
