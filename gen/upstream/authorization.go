package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/safetext"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
)

// loginError ends a request because a person has to log in first.
type loginError struct{ text string }

func (e *loginError) Error() string { return e.text }

// authorize sends a request with the token of a login, if there is one, and once more with a new token if the server
// refuses the first.
func (t *httpTransport) authorize(req *http.Request) (*http.Response, error) {
	token := ""
	if t.logins != nil {
		var err error
		if token, err = t.logins.Token(req.Context()); err != nil {
			return nil, t.noToken(err)
		}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if !isRefusal(resp.StatusCode) {
		if resp.StatusCode < 300 && req.Method != http.MethodDelete { // a session may be deleted without a login
			t.loginNeeded.Store(nil)
		}
		return resp, nil
	}
	challenge := oauth.ParseChallenge(resp.Header)
	if t.challenged != nil {
		t.challenged(resp.StatusCode, challenge)
	}
	if token != "" && resp.StatusCode == http.StatusUnauthorized {
		second, err := t.repeat(req, token)
		if err != nil {
			drain(resp.Body)
			return nil, err
		}
		if second != nil {
			drain(resp.Body)
			resp = second
			challenge = oauth.ParseChallenge(resp.Header)
		}
	}
	t.noteRefusal(req, resp.StatusCode, challenge, token != "")
	return resp, nil
}

func isRefusal(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// noToken turns the error of a token source into an error of this package.
func (t *httpTransport) noToken(err error) error {
	var login *oauth.LoginError
	if errors.As(err, &login) {
		return t.needLogin(login.Reason)
	}
	return err
}

// repeat refreshes the token and sends the request again. It returns nil if the request cannot be sent again; the next one
// has the new token.
func (t *httpTransport) repeat(req *http.Request, refused string) (*http.Response, error) {
	token, err := t.logins.Refresh(req.Context(), refused)
	if err != nil {
		return nil, t.noToken(err)
	}
	second := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil, nil
		}
		if second.Body, err = req.GetBody(); err != nil {
			return nil, nil
		}
	}
	second.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(second)
}

// noteRefusal notes whether an answer means that a person has to log in. The first reason counts.
func (t *httpTransport) noteRefusal(req *http.Request, status int, c oauth.Challenge, hadToken bool) {
	if t.logins == nil || t.loginNeeded.Load() != nil {
		return
	}
	switch {
	case status == http.StatusForbidden && c.InsufficientScope && hadToken:
		t.logins.Want(req.Context(), c.Scopes)
		reason := "the login does not cover what was asked for"
		if len(c.Scopes) > 0 {
			reason += fmt.Sprintf(" (it takes %s)", safetext.Printable(strings.Join(c.Scopes, " "), 200))
		}
		_ = t.needLogin(reason)
	case status == http.StatusUnauthorized && hadToken:
		_ = t.needLogin("the server refuses the stored login (401 Unauthorized)")
	case status == http.StatusUnauthorized:
		_ = t.needLogin("the server asks for a login (401 Unauthorized)")
	}
}

// needLogin keeps why a login is needed, with the command that makes one.
func (t *httpTransport) needLogin(reason string) error {
	err := &loginError{reason + "; " + oauth.Remedy(t.server)}
	t.loginNeeded.Store(err)
	return err
}

// drain reads what is left of a small body, so that its connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}

// oauthServer returns what the package oauth has to know about an expanded server.
func oauthServer(srv config.Server) oauth.Server {
	out := oauth.Server{Name: srv.Key, URL: srv.URL}
	if o := srv.OAuth; o != nil {
		out.ClientID, out.ClientSecret, out.ClientMetadataURL = o.ClientID, o.ClientSecret, o.ClientMetadataURL
		out.Scopes, out.Resource = o.Scopes, o.Resource
	}
	return out
}

// hasCredentials reports whether the configured headers hold credentials.
func hasCredentials(srv config.Server) bool {
	for name := range srv.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}
