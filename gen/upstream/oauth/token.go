package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// grantError is a token endpoint's refusal (RFC 6749, section 5.2).
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

// serverReason is an authorization server's error in one line.
func serverReason(code, description string) string {
	code, description = printable(code, 100), printable(description, 300)
	if description == "" {
		return code
	}
	return code + " (" + description + ")"
}

// final reports whether trying again later is of no use.
func (e *grantError) final() bool { return e.status < 500 && e.status != http.StatusTooManyRequests }

// grant is what a token endpoint gave.
type grant struct {
	access, refresh string
	lifetime        time.Duration // 0: not said
	scopes          []string      // nil: as asked for
}

// ask sends one request to a token endpoint, the client's proof added.
func (n *network) ask(ctx context.Context, endpoint string, who *identity, form url.Values) (*grant, error) {
	resp, err := n.post(ctx, endpoint, who, form)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var body struct {
		Access  string          `json:"access_token"`
		Type    string          `json:"token_type"`
		Expires json.RawMessage `json:"expires_in"`
		Refresh string          `json:"refresh_token"`
		Scope   *string         `json:"scope"`
		Error   string          `json:"error"`
		Detail  string          `json:"error_description"`
	}
	decodeErr := json.NewDecoder(resp.Body).Decode(&body)
	switch {
	case resp.StatusCode >= 300 || body.Error != "":
		return nil, &grantError{code: body.Error, description: body.Detail, status: resp.StatusCode}
	case decodeErr != nil:
		return nil, fmt.Errorf("its answer cannot be read: %s", plain(decodeErr))
	case !isToken(body.Access):
		return nil, errors.New("its answer holds no usable access token")
	case body.Type != "" && !strings.EqualFold(body.Type, "bearer"):
		return nil, fmt.Errorf("it gives tokens of the type %q, which this program does not use", printable(body.Type, 50))
	}
	g := &grant{access: body.Access, refresh: body.Refresh, lifetime: lifetime(body.Expires)}
	if body.Scope != nil {
		g.scopes = union(strings.Fields(printable(*body.Scope, 8<<10)))
	}
	return g, nil
}

// post sends a form with the client's proof.
func (n *network) post(ctx context.Context, endpoint string, who *identity, form url.Values) (*http.Response, error) {
	if err := checkAddress(endpoint); err != nil {
		return nil, err
	}
	if who.method != methodBasic {
		form.Set("client_id", who.id)
	}
	if who.method == methodPost {
		form.Set("client_secret", who.secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the address of the endpoint cannot be read")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if who.method == methodBasic { // encoded first (RFC 6749, section 2.3.1)
		req.SetBasicAuth(url.QueryEscape(who.id), url.QueryEscape(who.secret))
	}
	resp, err := n.client().Do(req)
	if err != nil {
		return nil, errors.New(plain(err))
	}
	return resp, nil
}

// maxLifetime bounds what a server may say of a token's life; nothing lives longer, and dates stay sane.
const maxLifetime = 10 * 365 * 24 * time.Hour

// lifetime reads expires_in, which some servers send as a string.
func lifetime(raw json.RawMessage) time.Duration {
	var seconds json.Number
	if json.Unmarshal(raw, &seconds) != nil {
		return 0
	}
	f, err := seconds.Float64()
	if err != nil || !(f > 0) {
		return 0
	}
	return time.Duration(min(f, maxLifetime.Seconds()) * float64(time.Second))
}

// isToken reports whether a text can stand in a header: visible ASCII, of some length.
func isToken(s string) bool {
	return s != "" && len(s) <= 64<<10 && !strings.ContainsFunc(s, func(r rune) bool { return r <= 0x20 || r >= 0x7f })
}

// apply puts a grant into a login.
func (l *login) apply(g *grant, now time.Time) {
	l.Access, l.Obtained, l.Expiry = g.access, now.UTC().Truncate(time.Second), time.Time{}
	if g.lifetime > 0 {
		l.Expiry = now.Add(g.lifetime).UTC()
	}
	if isToken(g.refresh) {
		l.Refresh = g.refresh
	}
	if g.scopes != nil {
		l.Scopes = g.scopes
	}
}

// identity is who the login was given to.
func (l *login) identity() *identity {
	return &identity{known: l.ClientKnown, id: l.ClientID, secret: l.ClientSecret, method: l.AuthMethod}
}
