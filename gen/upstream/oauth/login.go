package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Person is whoever logs in, as this package can reach them.
type Person struct {
	// Visit shows the address to open in a browser, and where the browser will be sent back to. Called once. An error
	// ends the login.
	Visit func(address, redirect string) error
	// Paste delivers what a person who had to open the address on another machine pastes: one line each, the address
	// that their browser was sent to. Nil: nobody pastes. A read that is under way when the login ends is left alone.
	Paste io.Reader
	// Note shows one line about an answer that was not the expected one. Nil shows nothing.
	Note func(text string)
}

// LoginOptions are the settings of [Login].
type LoginOptions struct {
	// Challenge is what the server answered to a request without a token.
	Challenge Challenge
	// Guess goes on where the server has no metadata at all, with the endpoints of 2025-03-26. Set it when the server
	// answered 401.
	Guess bool
	// Port is that of the redirect address, 0 for any free one, and Host its host: 127.0.0.1, or localhost for clients
	// that were registered with that. Empty: 127.0.0.1.
	Port int
	Host string
	// Wait bounds the wait for the person; zero means 5 min.
	Wait time.Duration
}

// Result tells of a login that was made.
type Result struct {
	Issuer string
	Scopes []string
	// Renewable says that there is a refresh token; Expires when the access token ends, zero if that was not said.
	Renewable bool
	Expires   time.Time
	// InKeyring says that the system's keyring has the tokens; else Path does.
	InKeyring bool
	Path      string
}

// ErrNoLogin says that a server shows no sign of wanting a login.
var ErrNoLogin = errors.New("it does not ask for a login")

// Login logs a person in to a server and stores the tokens. A login that was there before is replaced; when requests
// have been refused for want of scopes, it is widened by those.
//
// Errors: [ErrNoLogin], a *StoreError, the context's error, or one that names the step that failed.
func (s *Store) Login(ctx context.Context, server Server, person Person, opts LoginOptions) (*Result, error) {
	if err := checkAddress(server.URL); err != nil {
		return nil, errors.New("its url is not https: tokens would travel in the clear")
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
		before = &login{} // there is none, or it is replaced for being damaged
	}
	scopes := scopesFor(server, at, opts.Challenge, before)
	back, err := listen(opts, s.storedRedirect(at.auth.Issuer), server.ClientID == "")
	if err != nil {
		return nil, err
	}
	defer back.close()
	who, err := s.identify(ctx, n, server, at.auth, back.address, scopes)
	if err != nil {
		return nil, err
	}
	g, err := n.authorize(ctx, at, who, scopes, back, person, opts.Wait)
	if err != nil {
		var refused *grantError
		if errors.As(err, &refused) && refused.code == "invalid_client" && who.known == byRegistration {
			s.forgetClient(ctx, at.auth.Issuer) // so that the next try registers anew
		}
		return nil, err
	}
	l := &login{record: record{
		Name: server.Name, Origin: server.origin(), Issuer: at.auth.Issuer, TokenEndpoint: at.auth.TokenEndpoint,
		RevocationEndpoint: at.auth.RevocationEndpoint, Resource: at.resource,
		ClientID: who.id, ClientKnown: who.known, AuthMethod: who.method, Scopes: scopes,
	}, tokens: tokens{ClientSecret: who.secret}}
	l.apply(g, time.Now())
	return s.keep(ctx, server, l)
}

// keep stores a new login.
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

// scopesFor chooses what to ask for: what the configuration says, else what the challenge names, else what the
// server's metadata names. What was granted before is kept when more is needed, and a refresh token is asked for where
// that takes a scope.
func scopesFor(server Server, at *site, c Challenge, before *login) []string {
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
		if supported == "offline_access" {
			scopes = union(scopes, []string{supported})
		}
	}
	return union(scopes)
}

// authorize sends the person to the authorization server and turns the code that comes back into tokens.
func (n *network) authorize(ctx context.Context, at *site, who *identity, scopes []string, back *callback, person Person, wait time.Duration) (*grant, error) {
	verifier, state := oauth2.GenerateVerifier(), oauth2.GenerateVerifier() // 32 random bytes each
	config := oauth2.Config{
		ClientID: who.id, RedirectURL: back.address, Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: at.auth.AuthorizationEndpoint},
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", at.resource)}
	for _, scope := range scopes {
		if scope == "offline_access" { // OpenID Connect Core, section 11: without consent it is ignored
			options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
		}
	}
	if wait == 0 {
		wait = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("nobody logged in within %s", wait))
	defer cancel()
	back.expect(state, person.Note)
	if err := person.Visit(config.AuthCodeURL(state, options...), back.address); err != nil {
		return nil, err
	}
	answer, err := back.wait(ctx, person.Paste)
	if err != nil {
		return nil, err
	}
	issuer := printable(at.auth.Issuer, 200)
	if err := checkIssuer(answer, at.auth.Issuer, at.auth.AuthorizationResponseIssParameterSupported); err != nil {
		return nil, err
	}
	if code := answer.Get("error"); code != "" {
		return nil, fmt.Errorf("the authorization server %q refused: %s", issuer, serverReason(code, answer.Get("error_description")))
	}
	g, err := n.ask(ctx, at.auth.TokenEndpoint, who, url.Values{
		"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {back.address},
		"code_verifier": {verifier}, "resource": {at.resource},
	})
	if err != nil {
		return nil, fmt.Errorf("get a token from the authorization server %q: %w", issuer, err)
	}
	return g, nil
}

// checkIssuer keeps an answer of one authorization server from being taken for another's (RFC 9207). Issuers are
// compared as they stand, as that says.
func checkIssuer(answer url.Values, issuer string, promised bool) error {
	got, sent := answer.Get("iss"), answer.Has("iss")
	switch {
	case promised && !sent:
		return fmt.Errorf("the answer does not say who it is from, though the authorization server %q promises that; it is refused", printable(issuer, 200))
	case sent && got != issuer:
		return fmt.Errorf("the answer is from %q and not from the authorization server %q; it is refused", printable(got, 200), printable(issuer, 200))
	}
	return nil
}

// Logout forgets a login, and tells the authorization server so where it takes that (RFC 7009). It reports whether
// there was one; told is why the server could not be told, nil if it was or need not be.
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

// revoke revokes the refresh token, and with it all that came of it; else the access token.
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
	resp, err := n.post(ctx, l.RevocationEndpoint, l.identity(), form)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the answer is %s", strings.TrimSpace(resp.Status))
	}
	return nil
}
