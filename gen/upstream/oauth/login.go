package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Person is the person who logs in.
type Person struct {
	// Visit shows the address to open in a browser, and the address to which the browser will be sent back. It is called
	// once. An error ends the login.
	Visit func(address, redirect string) error
	// Paste reads what a person pastes who opened the address on another machine: the address that the browser was sent
	// to, on a line of its own. It may be nil. A read that is in progress when the login ends is not interrupted.
	Paste io.Reader
	// Note shows one line about an unexpected answer. It may be nil.
	Note func(text string)
}

// LoginOptions are the settings of [Store.Login].
type LoginOptions struct {
	// Challenge is what the server answered to a request without a token.
	Challenge Challenge
	// Guess assumes the endpoints of revision 2025-03-26 if the server has no metadata. Set it if the server answered
	// 401.
	Guess bool
	// Port is the port of the redirect address, 0 for any free one. Host is its host; empty means 127.0.0.1. Some clients
	// are registered with localhost.
	Port int
	Host string
}

// loginTime bounds the wait for the person.
const loginTime = 5 * time.Minute

// Result describes a login.
type Result struct {
	Issuer string
	Scopes []string
	// Renewable says that there is a refresh token. Expires is when the access token ends, zero if unknown.
	Renewable bool
	Expires   time.Time
	// InKeyring says that the system's keyring holds the tokens; if not, the file Path does.
	InKeyring bool
	Path      string
}

// ErrNoLogin is returned if a server shows no sign of asking for a login.
var ErrNoLogin = errors.New("it does not ask for a login")

// Login logs a person in to a server, as a new client unless the client is configured, and stores the tokens. It replaces
// an earlier login, and also asks for scopes that earlier requests were refused for lack of.
//
// Errors: [ErrNoLogin], a *StoreError, the context's error, or one that names the step that failed.
func (s *Store) Login(ctx context.Context, server Server, person Person, opts LoginOptions) (*Result, error) {
	if err := checkAddress(server.URL); err != nil {
		return nil, errors.New("its url is not https: tokens would be sent unencrypted")
	}
	n := newNetwork(ctx, server.URL)
	defer n.close()
	at, err := n.discover(ctx, server, opts.Challenge)
	if err != nil {
		return nil, err
	}
	if !at.described && !opts.Guess {
		return nil, ErrNoLogin
	}
	before, err := s.loadLogin(server)
	if err != nil {
		before = &login{} // none, or a damaged one, which is replaced
	}
	scopes := scopesFor(server, at, opts.Challenge, before)
	back, err := listen(opts, oauth2.GenerateVerifier(), person.Note) // 32 random bytes
	if err != nil {
		return nil, err
	}
	defer back.close()
	who, err := n.identify(ctx, server, at.auth, back.address, scopes)
	if err != nil {
		return nil, err
	}
	token, err := n.authorize(ctx, at, who, scopes, back, person)
	if err != nil {
		return nil, err
	}
	l := &login{record: record{
		Name: server.Name, Origin: server.origin(), Issuer: at.auth.Issuer, TokenEndpoint: at.auth.TokenEndpoint,
		RevocationEndpoint: at.auth.RevocationEndpoint, Resource: at.resource,
		ClientID: who.id, ClientKnown: who.known, AuthMethod: who.method, Scopes: scopes, Since: time.Now().UTC(),
	}, tokens: tokens{ClientSecret: who.secret}}
	l.apply(token)
	return s.keep(ctx, server, l)
}

// keep stores a login.
func (s *Store) keep(ctx context.Context, server Server, l *login) (*Result, error) {
	unlock, err := s.lock(ctx, server.id())
	if err != nil {
		return nil, err
	}
	defer unlock()
	inKeyring, err := s.saveLogin(server, l)
	if err != nil {
		return nil, err
	}
	return &Result{
		Issuer: l.Issuer, Scopes: l.Scopes, Renewable: l.Refresh != "", Expires: l.Expiry, InKeyring: inKeyring, Path: s.path(server.id()),
	}, nil
}

// scopesFor returns the scopes to ask for: those of the configuration, else of the challenge, else of the server's
// metadata. If more are needed than were granted, it keeps those that were. It adds the scope for a refresh token if the
// server has one.
func scopesFor(server Server, at *discovery, c Challenge, before *login) []string {
	scopes := server.Scopes
	if len(scopes) == 0 {
		scopes = c.Scopes
	}
	if len(scopes) == 0 {
		scopes = at.scopes
	}
	if len(before.Wanted) > 0 && before.Issuer == at.auth.Issuer {
		scopes = union(before.Scopes, before.Wanted, scopes)
	}
	for _, supported := range at.auth.ScopesSupported {
		if supported == "offline_access" && !server.ByClient {
			scopes = union(scopes, []string{supported})
		}
	}
	return union(scopes)
}

// authorize sends the person to the authorization server and exchanges the code that comes back for tokens.
func (n *network) authorize(ctx context.Context, at *discovery, who *identity, scopes []string, back *callback, person Person) (*oauth2.Token, error) {
	verifier := oauth2.GenerateVerifier()
	config := oauth2.Config{
		ClientID: who.id, RedirectURL: back.address, Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: at.auth.AuthorizationEndpoint},
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", at.resource)}
	for _, scope := range scopes {
		if scope == "offline_access" { // OpenID Connect Core, section 11: without consent it is ignored
			options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("nobody logged in within %s", loginTime))
	defer cancel()
	if err := person.Visit(config.AuthCodeURL(back.state, options...), back.address); err != nil {
		return nil, err
	}
	answer, err := back.wait(ctx, person.Paste)
	if err != nil {
		return nil, err
	}
	issuer := ident.Printable(at.auth.Issuer, 200)
	if err := checkIssuer(answer, at.auth.Issuer, at.auth.AuthorizationResponseIssParameterSupported); err != nil {
		return nil, err
	}
	if code := answer.Get("error"); code != "" {
		return nil, fmt.Errorf("the authorization server %q refused: %s", issuer, serverReason(code, answer.Get("error_description")))
	}
	token, err := n.grant(ctx, at.auth.TokenEndpoint, who, url.Values{
		"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {back.address},
		"code_verifier": {verifier}, "resource": {at.resource},
	})
	if err != nil {
		return nil, fmt.Errorf("get a token from the authorization server %q: %w", issuer, err)
	}
	return token, nil
}

// checkIssuer refuses an answer of another authorization server (RFC 9207). Issuers are compared byte for byte.
func checkIssuer(answer url.Values, issuer string, promised bool) error {
	got, sent := answer.Get("iss"), answer.Has("iss")
	switch {
	case promised && !sent:
		return fmt.Errorf("the answer does not say who it is from, though the authorization server %q promises that; it is refused", ident.Printable(issuer, 200))
	case sent && got != issuer:
		return fmt.Errorf("the answer is from %q and not from the authorization server %q; it is refused", ident.Printable(got, 200), ident.Printable(issuer, 200))
	}
	return nil
}

// Logout removes a login, and revokes its tokens if the authorization server can (RFC 7009). It reports whether there
// was a login; told is why the tokens could not be revoked.
func (s *Store) Logout(ctx context.Context, server Server) (found bool, told, err error) {
	unlock, err := s.lock(ctx, server.id())
	if err != nil {
		return false, nil, err
	}
	defer unlock()
	l, err := s.loadLogin(server)
	found = !errors.Is(err, fs.ErrNotExist)
	if err == nil && l.RevocationEndpoint != "" {
		told = revoke(ctx, server, l)
	}
	return found, told, s.remove(server.id())
}

// revoke revokes the refresh token, and all tokens made from it; without one, the access token.
func revoke(ctx context.Context, server Server, l *login) error {
	n := newNetwork(ctx, server.URL)
	defer n.close()
	form := url.Values{"token": {l.Refresh}, "token_type_hint": {"refresh_token"}}
	if l.Refresh == "" {
		form = url.Values{"token": {l.Access}, "token_type_hint": {"access_token"}}
	}
	if form.Get("token") == "" {
		return nil
	}
	who := l.identity()
	if who.method != methodBasic {
		form.Set("client_id", who.id)
	}
	if who.method == methodPost {
		form.Set("client_secret", who.secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevocationEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("the address of its revocation endpoint cannot be read")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if who.method == methodBasic { // encoded first (RFC 6749, section 2.3.1)
		req.SetBasicAuth(url.QueryEscape(who.id), url.QueryEscape(who.secret))
	}
	resp, err := n.client().Do(req)
	if err != nil {
		return errors.New(plain(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the answer is %s", strings.TrimSpace(resp.Status))
	}
	return nil
}
