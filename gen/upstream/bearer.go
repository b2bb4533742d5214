package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
)

// loginNeeded is the reason why a server can't be used without a new login.
type loginNeeded struct{ text string }

// errLogin ends a request that has no token to go with. Its text is in guard.needed.
type errLogin struct{ text string }

func (e *errLogin) Error() string { return e.text }

// send sends a request with the token of a login, if there is one, and once more with a new token when the server
// refuses the first.
func (g *guard) send(req *http.Request) (*http.Response, error) {
	token, err := g.token(req)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		if resp.StatusCode < 300 && req.Method != http.MethodDelete { // the end of a session says nothing, and comes at once after a refusal
			g.needed.Store(nil)
		}
		return resp, nil
	}
	challenge := oauth.ParseChallenge(resp.Header)
	if g.challenged != nil {
		g.challenged(resp.StatusCode, challenge)
	}
	if token != "" && resp.StatusCode == http.StatusUnauthorized {
		again, err := g.sendAgain(req, token)
		if err != nil {
			drain(resp.Body)
			return nil, err
		}
		if again != nil {
			drain(resp.Body)
			resp = again
			challenge = oauth.ParseChallenge(resp.Header)
			if resp.StatusCode < 300 {
				return resp, nil
			}
		}
	}
	g.judge(req, resp.StatusCode, challenge, token != "")
	return resp, nil
}

// token returns the token to send, "" for none.
func (g *guard) token(req *http.Request) (string, error) {
	if g.logins == nil {
		return "", nil
	}
	token, err := g.logins.Token(req.Context())
	if err != nil {
		return "", g.noToken(err)
	}
	return token, nil
}

// noToken turns the error of a source into one of this package.
func (g *guard) noToken(err error) error {
	var login *oauth.LoginError
	if errors.As(err, &login) {
		return g.need(login.Reason)
	}
	return err
}

// sendAgain renews the token and repeats the request. It returns nil where the first answer stands.
func (g *guard) sendAgain(req *http.Request, refused string) (*http.Response, error) {
	token, err := g.logins.Renew(req.Context(), refused)
	if err != nil {
		return nil, g.noToken(err)
	}
	again := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil, nil // the next request has the new token
		}
		if again.Body, err = req.GetBody(); err != nil {
			return nil, nil // as above
		}
	}
	again.Header.Set("Authorization", "Bearer "+token)
	return g.next.RoundTrip(again)
}

// judge decides whether an answer means that a person has to log in.
func (g *guard) judge(req *http.Request, status int, c oauth.Challenge, had bool) {
	if g.logins == nil || g.needed.Load() != nil { // the first reason is the one
		return
	}
	switch {
	case status == http.StatusForbidden && c.InsufficientScope && had:
		g.logins.Want(req.Context(), c.Scopes)
		what := "the login does not cover what was asked for"
		if len(c.Scopes) > 0 {
			what += fmt.Sprintf(" (it takes %s)", printable(strings.Join(c.Scopes, " "), 200))
		}
		_ = g.need(what)
	case status == http.StatusUnauthorized && had:
		_ = g.need("the server refuses the stored login (401 Unauthorized)")
	case status == http.StatusUnauthorized:
		_ = g.need("the server asks for a login (401 Unauthorized)")
	}
}

// need keeps why a login is needed, with the command that makes one.
func (g *guard) need(reason string) error {
	text := reason + "; " + oauth.Remedy(g.server)
	g.needed.Store(&loginNeeded{text})
	return &errLogin{text}
}

// loginReason returns why a login is needed, nil when it is not.
func (s *Session) loginReason() error {
	if s.guard == nil {
		return nil
	}
	if n := s.guard.needed.Load(); n != nil {
		return &errLogin{n.text}
	}
	return nil
}

// drain reads what is left of a small body, so that its connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}

// oauthServer is what logging in needs to know of an expanded server.
func oauthServer(srv config.Server) oauth.Server {
	out := oauth.Server{Name: srv.Key, URL: srv.URL}
	if o := srv.OAuth; o != nil {
		out.ClientID, out.ClientSecret, out.ClientMetadataURL = o.ClientID, o.ClientSecret, o.ClientMetadataURL
		out.Scopes, out.Resource = o.Scopes, o.Resource
	}
	return out
}

// hasCredentials reports whether the configured headers bring credentials of their own.
func hasCredentials(srv config.Server) bool {
	for name := range srv.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}
