package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/gen/config"
)

// TestLoginAtOIDCProvider logs in at an authorization server that others wrote, for a server protected by the SDK's own
// middleware: registration, PKCE, resource indicators, consent, rotation of refresh tokens, revocation.
func TestLoginAtOIDCProvider(t *testing.T) {
	t.Parallel()
	node, module := needProvider(t)
	protected := newProtected(t)
	protected.issuer = startProvider(t, node, module, protected.url)

	opts := testOptions()
	opts.Logins = NewLogins(filepath.Join(t.TempDir(), "logins"), false)
	srv := config.Server{Key: "fake", Transport: config.TransportHTTP, URL: protected.url}
	result, err := Login(testContext(t), srv, opts, LoginOptions{Person: Person{Visit: func(address, _ string) error {
		return consent(t, address)
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if result.Issuer != protected.issuer || !result.Renewable || result.Tools != 1 || !strings.Contains(strings.Join(result.Scopes, " "), "tools:read") {
		t.Errorf("result %+v", result)
	}
	s := open(t, srv, opts)
	// Access tokens live for 4 s: the refresh token is used and replaced at least twice.
	used := map[string]bool{}
	for ctx := testContext(t); len(used) < 3; time.Sleep(200 * time.Millisecond) {
		if _, err := s.ListTools(ctx); err != nil {
			t.Fatalf("%d access tokens were used, want several: %v", len(used), err)
		}
		for len(protected.seen) > 0 {
			used[<-protected.seen] = true
		}
	}
	if found, told, err := Logout(testContext(t), srv, opts); !found || told != nil || err != nil {
		t.Errorf("Logout %t, %v, %v", found, told, err)
	}
	_, err = Connect(testContext(t), srv, opts)
	wantLogin(t, err, "asks for a login")
}

// needProvider returns node and the oidc-provider package. In CI both must be there.
func needProvider(t *testing.T) (node, module string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server from npm")
	}
	modules, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	module = filepath.Join(modules, "oidc-provider", "lib", "index.js")
	node, err = exec.LookPath("node")
	if found, _ := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node")); len(found) > 0 {
		node, err = found[0], nil
	}
	if _, statErr := os.Stat(module); statErr != nil || err != nil {
		why := "node or the npm package oidc-provider is missing: npm ci --prefix testdata/npm --ignore-scripts"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return node, module
}

func startProvider(t *testing.T, node, module, resource string) string {
	t.Helper()
	cmd := exec.Command(node, filepath.Join("testdata", "oidc.mjs"), module, resource)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &record{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		stop := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer stop.Stop()
		_ = cmd.Wait() // how it ends is nobody's business
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the authorization server does not start: %v\n%s", err, said)
	}
	return strings.TrimSpace(line)
}

// consent goes through the provider's pages: a login with any name, and consent.
func consent(t *testing.T, address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar, Timeout: testTime}
	resp, err := browser.Get(address)
	for page := 0; err == nil; page++ {
		body, readErr := io.ReadAll(resp.Body)
		resp.Body.Close()
		if readErr != nil || resp.StatusCode != http.StatusOK || page > 5 {
			return fmt.Errorf("page %d, %s: %d %v\n%s", page, resp.Request.URL.Path, resp.StatusCode, readErr, body)
		}
		action := regexp.MustCompile(`action="([^"]+)"`).FindSubmatch(body)
		if action == nil {
			if resp.Request.URL.Path == "/callback" {
				return nil
			}
			return fmt.Errorf("page %d has no form\n%s", page, body)
		}
		form := url.Values{"login": {"somebody"}, "password": {"anything"}}
		for _, m := range regexp.MustCompile(`name="(\w+)" value="(\w+)"`).FindAllSubmatch(body, -1) {
			form.Set(string(m[1]), string(m[2]))
		}
		at, parseErr := resp.Request.URL.Parse(string(action[1]))
		if parseErr != nil {
			return parseErr
		}
		resp, err = browser.PostForm(at.String(), form)
	}
	return err
}

// protected is an MCP server behind the SDK's bearer token middleware. Tokens are judged by the authorization server.
type protected struct {
	url, issuer string
	seen        chan string
}

func newProtected(t *testing.T) *protected {
	t.Helper()
	p := &protected{seen: make(chan string, 1000)}
	server := mcp.NewServer(&mcp.Implementation{Name: "protected", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	p.url = srv.URL + "/mcp"
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	mux.HandleFunc(metadata, func(w http.ResponseWriter, r *http.Request) {
		auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: p.url, AuthorizationServers: []string{p.issuer}, ScopesSupported: []string{"tools:read"},
		}).ServeHTTP(w, r)
	})
	guarded := auth.RequireBearerToken(p.verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: srv.URL + metadata, Scopes: []string{"tools:read"},
	})
	mux.Handle("/mcp", guarded(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})))
	return p
}

// verify asks the authorization server (RFC 7662).
func (p *protected) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	form := url.Values{"token": {token}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.issuer+"/token/introspection", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth("introspector", "introspector-secret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var body struct {
		Active   bool
		Scope    string
		Audience string `json:"aud"`
		Expires  int64  `json:"exp"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return nil, err
	}
	if !body.Active || body.Audience != p.url {
		return nil, errors.Join(auth.ErrInvalidToken, fmt.Errorf("active %t for %q", body.Active, body.Audience))
	}
	p.seen <- token
	return &auth.TokenInfo{Scopes: strings.Fields(body.Scope), Expiration: time.Unix(body.Expires, 0)}, nil
}
