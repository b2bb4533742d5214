package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// The ways a client proves itself at a token endpoint (RFC 7591, section 2).
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// identity is this client, as an authorization server knows it.
type identity struct {
	known      string // byDocument, byConfig or byRegistration
	id, secret string
	method     string
}

// ErrUnknownClient is returned if an authorization server accepts only clients that were registered beforehand.
var ErrUnknownClient = errors.New("its authorization server accepts registered clients only")

// identify finds a client id: by metadata document, from the configuration, or registered now.
func (n *network) identify(ctx context.Context, server Server, meta *oauthex.AuthServerMeta, redirect string, scopes []string) (*identity, error) {
	switch {
	case server.ClientMetadataURL != "" && meta.ClientIDMetadataDocumentSupported:
		return &identity{known: byDocument, id: server.ClientMetadataURL, method: methodNone}, nil
	case server.ClientID != "":
		return &identity{known: byConfig, id: server.ClientID, secret: server.ClientSecret, method: configuredMethod(server, meta)}, nil
	case meta.RegistrationEndpoint == "":
		return nil, ErrUnknownClient
	}
	return n.register(ctx, meta, redirect, scopes)
}

func configuredMethod(server Server, meta *oauthex.AuthServerMeta) string {
	supported := meta.TokenEndpointAuthMethodsSupported
	switch {
	case server.ClientSecret == "":
		return methodNone
	case slices.Contains(supported, methodPost):
		return methodPost
	}
	return methodBasic // also the default (RFC 8414, section 2)
}

// register registers a client (RFC 7591).
func (n *network) register(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string, scopes []string) (*identity, error) {
	wanted := &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, ClientName: "mcpgen", ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		Scope: strings.Join(scopes, " "),
	}
	for _, method := range []string{methodNone, methodPost, methodBasic} {
		if slices.Contains(meta.TokenEndpointAuthMethodsSupported, method) {
			wanted.TokenEndpointAuthMethod = method
			break
		}
	}
	got, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, wanted, n.client())
	if err != nil {
		return nil, fmt.Errorf("register with the authorization server %q: %s", ident.Printable(meta.Issuer, 200), registrationReason(err))
	}
	out := &identity{known: byRegistration, id: got.ClientID, secret: got.ClientSecret, method: got.TokenEndpointAuthMethod}
	switch {
	case out.secret == "":
		out.method = methodNone
	case out.method != methodPost && out.method != methodNone:
		out.method = methodBasic // the default (RFC 7591, section 2)
	}
	return out, nil
}

// registrationReason leaves out the body of an answer that is not a registration error: it may hold anything.
func registrationReason(err error) string {
	var refused *oauthex.ClientRegistrationError
	if errors.As(err, &refused) {
		return serverReason(refused.ErrorCode, refused.ErrorDescription)
	}
	text, _, _ := strings.Cut(plain(err), ": {")
	return text
}
