package oauth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Source provides the access token of one server, and refreshes it. It may be used from several goroutines at once.
type Source struct {
	store  *Store
	server Server
	log    *slog.Logger
	secret func(value, name string)

	mu      sync.Mutex
	current *login // nil until there is one
}

// Source returns the source of a server's token. secret is called with every token before it is used, so that it can be
// removed from text. Both secret and log may be nil.
func (s *Store) Source(server Server, log *slog.Logger, secret func(value, name string)) *Source {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if secret == nil {
		secret = func(string, string) {}
	}
	return &Source{store: s, server: server, log: log, secret: secret}
}

// Token returns a token that probably works, "" if nobody has logged in. It may wait for another process that refreshes the
// same login.
//
// Errors: a *LoginError when only a new login helps, a *StoreError, the context's error, or one that says why the
// authorization server could not be asked.
func (s *Source) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil { // somebody may log in while this process runs
		l, err := s.store.loadLogin(s.server)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		} else if err != nil {
			return "", s.unreadable(err)
		}
		s.use(l)
	}
	if s.current.valid(time.Now()) {
		return s.current.Access, nil
	}
	token, err := s.refresh(ctx, s.current.Access)
	if err != nil && s.current != nil && s.current.Access != "" && time.Now().Before(s.current.Expiry) {
		s.log.Debug("refresh the token before its end", "err", err)
		return s.current.Access, nil // not expired yet; the next request tries again
	}
	return token, err
}

// Identity is [Store.Identity] of the login that is used.
func (s *Source) Identity() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return s.store.Identity(s.server)
	}
	return s.current.fingerprint()
}

// Describe implements httpclient.Tokens.
func (s *Source) Describe() (token, remedy string) { return "stored login", Remedy(s.server.Name) }

// Renews reports whether Refresh may help after a refusal.
func (s *Source) Renews(status int, _ Challenge, refused string) bool {
	return status == http.StatusUnauthorized && refused != ""
}

// Refresh returns another token than the one that the server has just refused.
//
// Errors as those of Token.
func (s *Source) Refresh(ctx context.Context, refused string, _ Challenge) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.Access != refused && s.current.valid(time.Now()) {
		return s.current.Access, nil // refreshed meanwhile, for another request
	}
	return s.refresh(ctx, refused)
}

// Want notes the scopes that a request needs, so that the next login asks for them.
func (s *Source) Want(ctx context.Context, scopes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || len(scopes) == 0 || !slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(s.current.Wanted, scope) }) {
		return
	}
	unlock, err := s.store.lock(ctx, s.server.id())
	if err != nil {
		return // the next login then asks without them
	}
	defer unlock()
	l, err := s.store.loadLogin(s.server)
	if err != nil {
		return
	}
	l.Wanted = union(l.Wanted, scopes)
	if _, err := s.store.saveLogin(s.server, l); err != nil {
		s.log.Debug("note the scopes that were missing", "err", err)
	}
	s.use(l)
}

func (s *Source) use(l *login) {
	s.current = l
	s.secret(l.Access, "access token")
	s.secret(l.Refresh, "refresh token")
	s.secret(l.ClientSecret, "client secret")
}

// refresh refreshes the token, unless another process has done so. The lock allows one request at a time: a refresh token
// that rotates works once, and using it again makes servers revoke all tokens of the login.
func (s *Source) refresh(ctx context.Context, old string) (string, error) {
	unlock, err := s.store.lock(ctx, s.server.id())
	if err != nil {
		return "", err
	}
	defer unlock()
	l, err := s.store.loadLogin(s.server)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.current = nil
		return "", s.needed("somebody has logged out")
	case err != nil:
		return "", s.unreadable(err)
	}
	s.use(l)
	switch {
	case l.Access != old && l.valid(time.Now()):
		return l.Access, nil
	case l.Refresh == "" && l.Access == "":
		return "", s.needed("the login is no longer valid")
	case l.Refresh == "":
		return "", s.needed("the login has expired, and its authorization server does not let it be renewed")
	}
	// Once the request is sent its answer has to be kept, even if the caller gives up: it may hold the only refresh token
	// that still works. The timeout of the HTTP client bounds it.
	ctx = context.WithoutCancel(ctx)
	n := newNetwork(ctx, s.server.URL)
	defer n.close()
	token, err := n.grant(ctx, l.TokenEndpoint, l.identity(), url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}, "resource": {l.Resource},
	})
	var refused *grantError
	if errors.As(err, &refused) && refused.final() {
		l.Access, l.Refresh = "", "" // s.current too: it is the same
		if _, err := s.store.saveLogin(s.server, l); err != nil {
			s.log.Debug("remove a login that is no longer valid", "err", err)
		}
		return "", s.needed("the login could not be renewed: " + refused.Error())
	}
	if err != nil {
		return "", fmt.Errorf("refresh the token at %q: %w", ident.Printable(l.Issuer, 200), err)
	}
	l.apply(token)
	s.use(l)
	if _, err := s.store.saveLogin(s.server, l); err != nil {
		s.log.Warn("the refreshed token could not be stored; the next process will ask for a login", "server", s.server.Name, "err", err)
	}
	return l.Access, nil
}

func (s *Source) needed(reason string) error {
	return &LoginError{Server: s.server.Name, Reason: reason}
}

// unreadable returns the error of a stored login that can't be read: it has to be made again.
func (s *Source) unreadable(err error) error {
	var bad *StoreError
	if errors.As(err, &bad) && bad.remedy != "" {
		return &LoginError{Server: s.server.Name, Reason: "the " + bad.Error() + "; " + bad.remedy}
	}
	return &LoginError{Server: s.server.Name, Reason: "the " + err.Error()}
}
