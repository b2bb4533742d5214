package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
)

// loginError ends a request because a person has to log in first.
type loginError struct{ text string }

func (e *loginError) Error() string { return e.text }

// authorize sends a request with the token of a login, if there is one. If the server refuses the token, it sends the
// request once more with a new one.
func (c *Client) authorize(req *http.Request) (*http.Response, error) {
	token := ""
	if c.Tokens != nil {
		var err error
		if token, err = c.Tokens.Token(req.Context()); err != nil {
			return nil, c.noToken(req.Context(), err)
		}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if !isRefusal(resp.StatusCode) {
		if resp.StatusCode < 300 && req.Method != http.MethodDelete { // a session may be deleted without a login
			c.loginNeeded.Store(nil)
		}
		return resp, nil
	}
	hadToken, challenge := token != "", oauth.ParseChallenge(resp.Header)
	if c.Challenged != nil {
		c.Challenged(resp.StatusCode, challenge)
	}
	if c.Tokens != nil && c.Tokens.Renews(resp.StatusCode, challenge, token) {
		second, err := c.repeat(req, token, challenge)
		if err != nil {
			drain(resp.Body)
			return nil, err
		}
		if second != nil {
			drain(resp.Body)
			if resp = second; !isRefusal(resp.StatusCode) {
				c.loginNeeded.Store(nil)
				return resp, nil
			}
			hadToken, challenge = true, oauth.ParseChallenge(resp.Header)
		}
	}
	c.noteRefusal(req, resp.StatusCode, challenge, hadToken)
	return resp, nil
}

func isRefusal(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// noToken turns the error of a token source into an error of this package: the server has not acted on the request.
func (c *Client) noToken(ctx context.Context, err error) error {
	var login *oauth.LoginError
	switch {
	case errors.As(err, &login):
		return c.needLogin(login.Reason)
	case ctx.Err() != nil:
		return err
	}
	return &Refusal{text: err.Error(), Unsent: true}
}

// repeat refreshes the token and sends the request again. It returns nil if the request cannot be sent again; the next one
// has the new token.
func (c *Client) repeat(req *http.Request, refused string, challenge oauth.Challenge) (*http.Response, error) {
	token, err := c.Tokens.Refresh(req.Context(), refused, challenge)
	if err != nil {
		return nil, c.noToken(req.Context(), err)
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
	return c.next.RoundTrip(second)
}

// noteRefusal notes whether an answer means that a person has to log in. The first reason counts.
func (c *Client) noteRefusal(req *http.Request, status int, challenge oauth.Challenge, hadToken bool) {
	if c.Tokens == nil || c.loginNeeded.Load() != nil {
		return
	}
	what, _ := c.Tokens.Describe()
	switch {
	case status == http.StatusForbidden && challenge.InsufficientScope && hadToken:
		c.Tokens.Want(req.Context(), challenge.Scopes)
		reason := "the " + what + " does not cover what was asked for"
		if len(challenge.Scopes) > 0 {
			reason += fmt.Sprintf(" (it takes %s)", ident.Printable(strings.Join(challenge.Scopes, " "), 200))
		}
		_ = c.needLogin(reason)
	case status == http.StatusUnauthorized && hadToken:
		_ = c.needLogin("the server refuses the " + what + " (401 Unauthorized)")
	case status == http.StatusUnauthorized:
		_ = c.needLogin("the server asks for a login (401 Unauthorized)")
	}
}

// needLogin records why a login is needed and what to do about it.
func (c *Client) needLogin(reason string) error {
	_, remedy := c.Tokens.Describe()
	err := &loginError{reason + "; " + remedy}
	c.loginNeeded.Store(err)
	return err
}

// drain reads what is left of a small body, so that its connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}
