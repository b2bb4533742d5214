package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The ways a client proves itself at a token endpoint (RFC 7591, section 2).
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// identity is who we are to an authorization server.
type identity struct {
	known      string // byDocument, byConfig or byRegistration
	id, secret string
	method     string
}

// registration is a stored client of dynamic registration. It belongs to one issuer and one redirect address.
type registration struct {
	Issuer   string    `json:"issuer"`
	ClientID string    `json:"clientId"`
	Method   string    `json:"authMethod"`
	Redirect string    `json:"redirect"`
	Scopes   []string  `json:"scopes,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// clientSecret is what is secret of it.
type clientSecret struct {
	Secret string `json:"clientSecret,omitempty"`
}

func registrationID(issuer string) string { return hash("client", issuer) }

// ErrUnknownClient says that there is no way to become known to an authorization server.
var ErrUnknownClient = errors.New("its authorization server takes registered clients only")

// identify finds a client id: by metadata document, from the configuration, stored, or registered now.
func (s *Store) identify(ctx context.Context, n *network, server Server, meta *oauthex.AuthServerMeta, redirect string, scopes []string) (*identity, error) {
	switch {
	case server.ClientMetadataURL != "" && meta.ClientIDMetadataDocumentSupported:
		return &identity{known: byDocument, id: server.ClientMetadataURL, method: methodNone}, nil
	case server.ClientID != "":
		return &identity{known: byConfig, id: server.ClientID, secret: server.ClientSecret, method: configuredMethod(server, meta)}, nil
	case meta.RegistrationEndpoint == "":
		return nil, ErrUnknownClient
	}
	id := registrationID(meta.Issuer)
	unlock, err := s.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var r registration
	var secret clientSecret
	// A registration that cannot be read is made anew.
	if s.load(id, &r, &secret) == nil && r.fits(meta.Issuer, redirect, scopes) {
		return &identity{known: byRegistration, id: r.ClientID, secret: secret.Secret, method: r.Method}, nil
	}
	out, expires, err := n.register(ctx, meta, redirect, scopes)
	if err != nil {
		return nil, err
	}
	r = registration{Issuer: meta.Issuer, ClientID: out.id, Method: out.method, Redirect: redirect, Scopes: scopes, Expires: expires}
	if _, err := s.save(id, r, clientSecret{out.secret}); err != nil {
		return nil, err
	}
	return out, nil
}

// fits reports whether a registration serves a login.
func (r *registration) fits(issuer, redirect string, scopes []string) bool {
	if r.Issuer != issuer || r.ClientID == "" || r.Redirect != redirect || !r.Expires.IsZero() && time.Now().After(r.Expires) {
		return false
	}
	return !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(r.Scopes, s) })
}

// storedPort is the port of the redirect address that we are registered with; 0: none.
func (s *Store) storedRedirect(issuer string) string {
	var r registration
	if s.load(registrationID(issuer), &r, nil) != nil {
		return ""
	}
	return r.Redirect
}

// forgetClient drops a registration that the server no longer knows.
func (s *Store) forgetClient(ctx context.Context, issuer string) {
	unlock, err := s.lock(ctx, registrationID(issuer))
	if err != nil {
		return // the next login fails the same way and says so
	}
	defer unlock()
	_ = s.remove(registrationID(issuer)) // as above
}

func configuredMethod(server Server, meta *oauthex.AuthServerMeta) string {
	supported := meta.TokenEndpointAuthMethodsSupported
	switch {
	case server.ClientSecret == "":
		return methodNone
	case slices.Contains(supported, methodPost):
		return methodPost
	}
	return methodBasic // also what silence means (RFC 8414, section 2)
}

// register registers a client (RFC 7591).
func (n *network) register(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string, scopes []string) (*identity, time.Time, error) {
	if err := checkAddress(meta.RegistrationEndpoint); err != nil {
		return nil, time.Time{}, fmt.Errorf("register with the authorization server: %w", err)
	}
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
		return nil, time.Time{}, fmt.Errorf("register with the authorization server %q: %s", printable(meta.Issuer, 200), registrationReason(err))
	}
	out := &identity{known: byRegistration, id: got.ClientID, secret: got.ClientSecret, method: got.TokenEndpointAuthMethod}
	switch {
	case out.secret == "":
		out.method = methodNone
	case out.method != methodPost && out.method != methodNone:
		out.method = methodBasic // the default (RFC 7591, section 2)
	}
	return out, got.ClientSecretExpiresAt, nil
}

// registrationReason leaves out bodies: what is no error of the form may hold anything.
func registrationReason(err error) string {
	var refused *oauthex.ClientRegistrationError
	if errors.As(err, &refused) {
		return serverReason(refused.ErrorCode, refused.ErrorDescription)
	}
	text, _, _ := strings.Cut(plain(err), ": {")
	return text
}
