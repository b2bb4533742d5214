package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// scene is a server that asks for a login, its authorization server, and a place for logins.
type scene struct {
	auth   *authServer
	server *protectedServer
	srv    config.Server
	opts   *Options
	dir    string
	notes  []string
}

func newScene(t *testing.T, server protectedServer) *scene {
	t.Helper()
	c := &scene{auth: newAuthServer(t), server: &server, dir: filepath.Join(t.TempDir(), "logins"), opts: testOptions()}
	server.start(t, c.auth)
	c.srv = config.Server{Key: "fake", Transport: config.TransportHTTP, URL: server.url}
	c.opts.Logins = NewLogins(c.dir, false)
	return c
}

// login logs in as a person would whose browser needs no word of theirs.
func (c *scene) login(t *testing.T) (*LoginResult, error) {
	t.Helper()
	return Login(testContext(t), c.srv, c.opts, LoginOptions{Person: Person{
		Visit: func(address, _ string) error {
			go func() { _, _ = visit(address) }() // what goes wrong shows in the login
			return nil
		},
		Note: func(text string) { c.notes = append(c.notes, text) },
	}})
}

func (c *scene) mustLogin(t *testing.T) *LoginResult {
	t.Helper()
	r, err := c.login(t)
	if err != nil {
		t.Fatalf("Login: %v", err)
	}
	return r
}

// wantLogin checks that an error sends the person to mcpgen login.
func wantLogin(t *testing.T, err error, text string) {
	t.Helper()
	wantConnectionError(t, err, text)
	var gone *ConnectionError
	if errors.As(err, &gone); !gone.Login || !strings.Contains(err.Error(), `run "mcpgen login fake"`) {
		t.Errorf("error %q does not say how to log in", err)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{scopes: []string{"read"}})
	_, err := Connect(testContext(t), c.srv, c.opts)
	wantLogin(t, err, "the server asks for a login (401 Unauthorized)")

	r := c.mustLogin(t)
	if r.Issuer != c.auth.issuer || !slices.Equal(r.Scopes, []string{"read"}) || !r.Renewable || r.InKeyring || r.Tools != len(upstreamtest.ToolNames()) {
		t.Errorf("result %+v", r)
	}
	s := open(t, c.srv, c.opts)
	mustCall(t, s, upstreamtest.ToolEcho, `{}`)
	if n := c.auth.timesSeen("register"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}
	q := c.auth.authorizations()[0]
	if q.Get("resource") != c.server.url || len(q.Get("state")) < 32 || q.Get("scope") != "read" {
		t.Errorf("authorization request %v", q)
	}

	c.mustLogin(t) // replaces the first
	if kept, err := c.opts.Logins.List(); err != nil || len(kept) != 1 || kept[0].Server != "fake" || kept[0].Err != nil {
		t.Errorf(`List %+v, %v, want len(kept) 1, Server "fake" and no error`, kept, err)
	}

	found, told, err := Logout(testContext(t), c.srv, c.opts)
	if !found || told != nil || err != nil || c.auth.timesSeen("revoke") != 1 {
		t.Errorf("Logout %t, %v, %v", found, told, err)
	}
	_, err = Connect(testContext(t), c.srv, c.opts)
	wantLogin(t, err, "asks for a login")
	if found, _, err := Logout(testContext(t), c.srv, c.opts); found || err != nil {
		t.Errorf("second Logout %t, %v", found, err)
	}
}

func TestLoginWithKnownClients(t *testing.T) {
	t.Run("configured", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.auth.changeMetadata = func(m map[string]any) { delete(m, "registration_endpoint") }
		_, err := c.login(t)
		if err == nil || !strings.Contains(err.Error(), "accepts registered clients only") {
			t.Fatalf(`error %v, want an error and "accepts registered clients only" in it`, err)
		}
		c.auth.clientID, c.auth.clientSecret = "our client", "s3cret&%=client"
		c.srv.OAuth = &config.OAuth{ClientID: "our client", ClientSecret: "${CLIENT_SECRET}"}
		c.opts.Lookup = func(name string) (string, bool) { return "s3cret&%=client", name == "CLIENT_SECRET" }
		c.mustLogin(t)
		wantNoSecret(t, c.dir, "s3cret")
		c.auth.forget(false)
		mustCall(t, open(t, c.srv, c.opts), upstreamtest.ToolEcho, `{}`) // the refresh proves itself with the secret
	})
	t.Run("document", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.auth.documents = true
		c.srv.OAuth = &config.OAuth{ClientMetadataURL: "https://example.test/client.json"}
		c.mustLogin(t)
		if got := c.auth.authorizations()[0].Get("client_id"); got != "https://example.test/client.json" || c.auth.timesSeen("register") != 0 {
			t.Errorf("client id %q", got)
		}
	})
	t.Run("another client by now", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.auth.clientID = "one"
		c.srv.OAuth = &config.OAuth{ClientID: "one"}
		c.mustLogin(t)
		c.srv.OAuth = &config.OAuth{ClientID: "two"}
		_, err := Connect(testContext(t), c.srv, c.opts)
		wantLogin(t, err, "asks for a login")
	})
}

func wantNoSecret(t *testing.T, dir, secret string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %q, %v", files, err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s holds the secret (%v), want no %q in it and no error", f, err, secret)
		}
	}
}

// TestLoginFailures goes through what authorization servers get wrong. Nothing may be stored, and no error may hold a
// control character.
func TestLoginFailures(t *testing.T) {
	other, visits := thief(t)
	metadata := func(name, value string) func(*authServer) {
		return func(a *authServer) { a.changeMetadata = func(m map[string]any) { m[name] = value } }
	}
	answer := func(change func(url.Values)) func(*authServer) {
		return func(a *authServer) { a.changeAnswer = func(_ string, q url.Values) { change(q) } }
	}
	handle := func(path string, h http.HandlerFunc) func(*authServer) {
		return func(a *authServer) { a.handlers = map[string]http.HandlerFunc{path: h} }
	}
	refuse := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)
		}
	}
	redirect := http.RedirectHandler(other+"/token", http.StatusTemporaryRedirect).ServeHTTP
	for text, spoil := range map[string]func(*authServer){
		`the answer is from "https://issuer.invalid" and not from`: answer(func(q url.Values) { q.Set("iss", "https://issuer.invalid") }),
		"does not say who it is from":                              answer(func(q url.Values) { q.Del("iss") }),
		"refused: access_denied (not [31mtoday)": answer(func(q url.Values) {
			q.Del("code")
			q.Set("error", "access_denied")
			q.Set("error_description", "not \x1b[31mtoday")
		}),
		`"https://issuer.invalid" does not match`: metadata("issuer", "https://issuer.invalid"),
		"does not implement PKCE": func(a *authServer) {
			a.changeMetadata = func(m map[string]any) { delete(m, "code_challenge_methods_supported") }
		},
		"non-public address":            metadata("token_endpoint", "https://169.254.169.254/token"),
		"does not use HTTPS":            metadata("token_endpoint", "http://auth.invalid/token"),
		`is not https`:                  metadata("authorization_endpoint", "file://localhost/etc/passwd"),
		"invalid_grant (odd)":           handle("/token", refuse(`{"error":"invalid_grant","error_description":"odd"}`)),
		"the answer is 400 Bad Request": handle("/token", refuse("s3cret")),
		"redirects a request that carries credentials, which is refused": handle("/token", redirect),
		"redirects to another origin, which is refused":                  handle("/.well-known/oauth-authorization-server", redirect),
		"cannot parse json: unexpected end": handle("/token", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"`+strings.Repeat("x", 64<<20))
		}),
		"no usable access token": func(a *authServer) {
			a.changeGrant = func(m map[string]any) { m["access_token"] = "two\r\nlines: of it" }
		},
		"cannot parse json: invalid": handle("/token", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>log in</html>")
		}),
		"invalid_redirect_uri (no [31mway)": handle("/register", refuse(`{"error":"invalid_redirect_uri","error_description":"no \u001b[31mway"}`)),
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, protectedServer{})
			spoil(c.auth)
			_, err := c.login(t)
			var failed *LoginFailure
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), text) {
				t.Fatalf("error %v, want %q", err, text)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < 0x20 }) || len(err.Error()) > 1200 {
				t.Errorf("error %q", err)
			}
			if visits.Load() != 0 {
				t.Error("the other origin was visited")
			}
			if kept, err := c.opts.Logins.List(); err != nil || len(kept) != 0 {
				t.Errorf("kept %+v, %v, want len(kept) 0 and no error", kept, err)
			}
		})
	}
}

func TestLoginIgnoresStrangersAnswers(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{})
	c.auth.changeAnswer = func(address string, _ url.Values) {
		_, _ = visit(address + "?code=stolen&state=another") // the login notes it
	}
	c.mustLogin(t)
	if len(c.notes) != 1 || !strings.Contains(c.notes[0], "does not belong to the login that was started here") {
		t.Errorf(`notes %q, want len(c.notes) 1 and "does not belong to the login that was started here" in it`, c.notes)
	}
}

func TestLoginWithoutNeed(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{})
	open := *c
	open.srv = upstreamtest.HTTPServer(t, upstreamtest.Normal, nil)
	_, err := open.login(t)
	if !errors.Is(err, oauth.ErrNoLogin) {
		t.Errorf("error %v, want %v", err, oauth.ErrNoLogin)
	}
	c.srv.Headers = map[string]string{"authorization": "Bearer mine"}
	if _, err := c.login(t); err == nil || !strings.Contains(err.Error(), "gives it an Authorization header") {
		t.Errorf(`error %v, want an error and "gives it an Authorization header" in it`, err)
	}
	_, err = Connect(testContext(t), c.srv, c.opts)
	wantConnectionError(t, err, "check the headers in its configuration")
	c.srv = upstreamtest.Server(t, upstreamtest.Normal)
	if _, err := c.login(t); err == nil || !strings.Contains(err.Error(), "is started by a command") {
		t.Errorf(`error %v, want an error and "is started by a command" in it`, err)
	}
}

func TestLoginOfAnotherResourceIsRefused(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{resource: "https://bank.invalid/mcp"})
	if _, err := c.login(t); err == nil || !strings.Contains(err.Error(), `another resource, "https://bank.invalid/mcp"`) {
		t.Errorf("error %v, want an error and %q in it", err, `another resource, "https://bank.invalid/mcp"`)
	}
	if c.auth.timesSeen("authorize") != 0 {
		t.Error("the person was sent to log in")
	}
}

func TestLoginByPastedAddress(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{})
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	_, err = Login(testContext(t), c.srv, c.opts, LoginOptions{Person: Person{
		Paste: in,
		Visit: func(address, _ string) error {
			// The browser is on another machine: it is told where to go and gets nowhere.
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := client.Get(address)
			if err != nil {
				return err
			}
			resp.Body.Close()
			_, err = out.WriteString("\nhttp://127.0.0.1:1/callback?code=x&state=y\n" + resp.Header.Get("Location") + "\n")
			return errors.Join(err, out.Close())
		},
		Note: func(text string) { c.notes = append(c.notes, text) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.notes) != 1 || !strings.Contains(c.notes[0], "what was pasted was not accepted") {
		t.Errorf(`notes %q, want len(c.notes) 1 and "what was pasted was not accepted" in it`, c.notes)
	}
}

func TestLoginWidensItself(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{scopes: []string{"read"}, callScopes: []string{"write"}})
	c.mustLogin(t)
	s := open(t, c.srv, c.opts)
	if _, err := s.ListTools(testContext(t)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
	wantLogin(t, err, "does not cover what was asked for (it takes write)")
	c.mustLogin(t)
	requests := c.auth.authorizations()
	if got := requests[len(requests)-1].Get("scope"); got != "read write" {
		t.Errorf(`scope %q, want "read write"`, got)
	}
	mustCall(t, open(t, c.srv, c.opts), upstreamtest.ToolEcho, `{}`)
}

func TestRefresh(t *testing.T) {
	t.Run("before its end", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.auth.lifetime = 3 * time.Second
		c.mustLogin(t)
		s := open(t, c.srv, c.opts)
		for end := time.Now().Add(testTime); c.auth.timesSeen("refresh") == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			mustCall(t, s, upstreamtest.ToolEcho, `{}`)
		}
		if n := c.auth.timesSeen("refresh"); n == 0 || c.auth.timesSeen("reuse") != 0 {
			t.Errorf("%d refreshes, %d with a used token", n, c.auth.timesSeen("reuse"))
		}
	})
	t.Run("after a refusal", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.mustLogin(t)
		s := open(t, c.srv, c.opts)
		c.auth.forget(false)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := c.auth.timesSeen("refresh"); n != 1 {
			t.Errorf("%d refreshes, want 1", n)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.mustLogin(t)
		s := open(t, c.srv, c.opts)
		c.auth.forget(true)
		_, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
		wantLogin(t, err, "the login could not be renewed: invalid_grant (no such refresh token)")
		_, err = Connect(testContext(t), c.srv, c.opts)
		wantLogin(t, err, "no longer valid")
		if n := c.auth.timesSeen("refresh"); n != 1 {
			t.Errorf("%d refreshes: the dead token was used again, want 1", n)
		}
		c.mustLogin(t)
		mustCall(t, open(t, c.srv, c.opts), upstreamtest.ToolEcho, `{}`)
	})
	t.Run("authorization server down", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.mustLogin(t)
		c.auth.forget(false)
		c.auth.setDown(true)
		_, err := Connect(testContext(t), c.srv, c.opts)
		wantConnectionError(t, err, "503")
		c.auth.setDown(false)
		mustCall(t, open(t, c.srv, c.opts), upstreamtest.ToolEcho, `{}`) // nothing was thrown away
	})
	t.Run("none given", func(t *testing.T) {
		t.Parallel()
		c := newScene(t, protectedServer{})
		c.auth.changeGrant = func(answer map[string]any) { delete(answer, "refresh_token") }
		c.auth.lifetime = 3 * time.Second
		if r := c.mustLogin(t); r.Renewable {
			t.Error("it is said to be renewable")
		}
		time.Sleep(c.auth.lifetime)
		_, err := Connect(testContext(t), c.srv, c.opts)
		wantLogin(t, err, "does not let it be renewed")
	})
}

func TestLoginEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{})
	ctx, cancel := context.WithCancel(testContext(t))
	_, err := Login(ctx, c.srv, c.opts, LoginOptions{Person: Person{Visit: func(string, string) error { cancel(); return nil }}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
