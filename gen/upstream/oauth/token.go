package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// grantError is the refusal of a token endpoint (RFC 6749, section 5.2).
type grantError struct {
	code, description string
	status            int
}

func (e *grantError) Error() string {
	if e.code == "" {
		return fmt.Sprintf("the answer is %d %s", e.status, http.StatusText(e.status))
	}
	return serverReason(e.code, e.description)
}

// serverReason returns the error of an authorization server in one line.
func serverReason(code, description string) string {
	code, description = ident.Printable(code, 100), ident.Printable(description, 300)
	if description == "" {
		return code
	}
	return code + " (" + description + ")"
}

// final reports whether trying again later cannot help.
func (e *grantError) final() bool { return e.status < 500 && e.status != http.StatusTooManyRequests }

// grant asks a token endpoint for a token. params are those of the grant, its type included. The errors of oauth2 quote
// answers, which may hold tokens, so none of them is returned as it is.
func (n *network) grant(ctx context.Context, endpoint string, who *identity, params url.Values) (*oauth2.Token, error) {
	// The package oauth2 sends no "resource" when it refreshes a token; this type sends what it is told to.
	config := clientcredentials.Config{
		ClientID: who.id, ClientSecret: who.secret, TokenURL: endpoint, AuthStyle: oauth2.AuthStyleInParams, EndpointParams: params,
	}
	if who.method == methodBasic {
		config.AuthStyle = oauth2.AuthStyleInHeader
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, n.client()))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused):
		return nil, &grantError{code: refused.ErrorCode, description: refused.ErrorDescription, status: refused.Response.StatusCode}
	case err != nil:
		return nil, errors.New(strings.TrimPrefix(plain(err), "oauth2: "))
	case !isToken(token.AccessToken):
		return nil, errors.New("its answer has no usable access token")
	}
	return token, nil
}

// isToken reports whether a text can be sent in a header: it is visible ASCII, and bounded.
func isToken(s string) bool {
	return s != "" && len(s) <= 64<<10 && !strings.ContainsFunc(s, func(r rune) bool { return r <= 0x20 || r >= 0x7f })
}

// apply stores a token in a login.
func (l *login) apply(token *oauth2.Token) {
	l.Access, l.Obtained, l.Expiry = token.AccessToken, time.Now().UTC().Truncate(time.Second), token.Expiry.UTC()
	if isToken(token.RefreshToken) {
		l.Refresh = token.RefreshToken
	}
	if scope, ok := token.Extra("scope").(string); ok {
		l.Scopes = union(strings.Fields(ident.Printable(scope, 8<<10)))
	}
}

// identity returns the client that the login was granted to.
func (l *login) identity() *identity {
	return &identity{known: l.ClientKnown, id: l.ClientID, secret: l.ClientSecret, method: l.AuthMethod}
}
