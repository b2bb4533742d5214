package upstream

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// newClientScene is a scene whose client gets its tokens without a person.
func newClientScene(t *testing.T, server protectedServer) *scene {
	t.Helper()
	c := newScene(t, server)
	c.opts.Logins = nil
	c.auth.clientID, c.auth.clientSecret = "ci", "s3cret&more-of-it"
	c.auth.changeMetadata = func(m map[string]any) { delete(m, "authorization_endpoint") }
	c.srv.OAuth = &config.OAuth{Grant: config.GrantClient, ClientID: "${CI_ID}", ClientSecret: "${CI_SECRET}"}
	c.opts.Lookup = func(name string) (string, bool) {
		value, ok := map[string]string{"CI_ID": "ci", "CI_SECRET": "s3cret&more-of-it"}[name]
		return value, ok
	}
	return c
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	c := newClientScene(t, protectedServer{scopes: []string{"read"}, callScopes: []string{"write"}})
	s := open(t, c.srv, c.opts)
	if _, err := s.ListTools(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if n := c.auth.timesSeen("client"); n != 1 {
		t.Errorf("%d tokens for one session, want 1", n)
	}
	// The call needs another scope, which the client asks for by itself; once for all calls.
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			res, err := s.Call(testContext(t), upstreamtest.ToolEcho, []byte(`{"a":1}`), nil)
			if err != nil || string(res.Structured) != `{"a":1}` {
				t.Errorf("Call() = %v, %v, want string(res.Structured) %q and no error", res, err, `{"a":1}`)
			}
		})
	}
	wg.Wait()
	if n := c.auth.timesSeen("client"); n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}
	for _, token := range c.auth.live() {
		if strings.HasPrefix(token, "access-") && s.Conceal("is "+token) != "is [access token]" {
			t.Errorf("the token %s is not concealed", token)
		}
	}
	c.auth.forget(false) // as if the server had been restarted
	mustCall(t, s, upstreamtest.ToolEcho, `{}`)
}

func TestClientCredentialsExpire(t *testing.T) {
	t.Parallel()
	c := newClientScene(t, protectedServer{})
	c.auth.lifetime = 3 * time.Second
	s := open(t, c.srv, c.opts)
	for end := time.Now().Add(testTime); c.auth.timesSeen("client") < 2 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		mustCall(t, s, upstreamtest.ToolEcho, `{}`)
	}
	if n := c.auth.timesSeen("client"); n < 2 {
		t.Errorf("%d tokens, want several", n)
	}
}

func TestClientCredentialsSettings(t *testing.T) {
	t.Parallel()
	// A configured token endpoint needs no metadata, and configured scopes are not widened.
	c := newClientScene(t, protectedServer{callScopes: []string{"write"}})
	c.auth.changeMetadata = func(m map[string]any) { clear(m) }
	c.srv.OAuth.TokenEndpoint, c.srv.OAuth.Resource, c.srv.OAuth.Scopes = c.auth.issuer+"/token", c.server.url, config.Scopes{"read"}
	s := open(t, c.srv, c.opts)
	if n := c.auth.timesSeen("metadata"); n != 0 {
		t.Errorf("the metadata were read %d times, want never", n)
	}
	_, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "the token of the configured client does not cover what was asked for (it takes write); check oauth in its configuration")

	for name, change := range map[string]func(c *scene){
		`refuses the configured client: invalid_client; check oauth in its configuration`: func(c *scene) { c.auth.clientSecret = "another" },
		"the grant client_credentials takes a client's id and its secret; check oauth":    func(c *scene) { c.srv.OAuth.ClientSecret = "" },
		"503":          func(c *scene) { c.auth.setDown(true) },
		"is not https": func(c *scene) { c.srv.OAuth.TokenEndpoint = "http://example.com/token" },
		"the server refuses the token of the configured client (401 Unauthorized)": func(c *scene) { c.srv.OAuth.Resource = "https://example.com/other" },
	} {
		c := newClientScene(t, protectedServer{})
		change(c)
		_, err := Connect(testContext(t), c.srv, c.opts)
		wantConnectionError(t, err, name)
		if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "mcpgen login") {
			t.Errorf(`the error %q holds the secret or wrong advice, want no "s3cret" in it and no "mcpgen login" in it`, err)
		}
	}
	_, err = Login(testContext(t), c.srv, &Options{Lookup: c.opts.Lookup, Logins: NewLogins(c.dir, false)}, LoginOptions{})
	var failed *LoginFailure
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "client_credentials, which needs no login") {
		t.Errorf("Login() = %v, want a failure that names the grant", err)
	}
}
