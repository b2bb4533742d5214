package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

func TestReach(t *testing.T) {
	for _, c := range []struct {
		server  string
		allowed []string
		refused []string
	}{
		{"https://203.0.113.9/mcp", []string{"8.8.8.8", "2606:4700::1"},
			[]string{"127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "fe80::1", "0.0.0.0", "::ffff:10.0.0.1", "224.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "198.18.0.1", "240.0.0.1"}},
		{"https://10.1.2.3/mcp", []string{"8.8.8.8", "10.0.0.1", "fd00::1"}, []string{"127.0.0.1", "169.254.169.254", "::1", "0.0.0.0"}},
		{"http://127.0.0.1:99/mcp", []string{"8.8.8.8", "10.0.0.1", "127.0.0.1", "::1"}, []string{"169.254.169.254", "0.0.0.0", "fe80::1"}},
		{"http://localhost:99/mcp", []string{"127.0.0.1"}, []string{"169.254.169.254"}},
		{"https://[::1]/mcp", []string{"::1"}, nil},
		{"https://no-such-host.invalid/mcp", []string{"8.8.8.8"}, []string{"127.0.0.1", "10.0.0.1"}},
	} {
		n := newNetwork(t.Context(), c.server)
		for _, ip := range c.allowed {
			if !n.allows(netip.MustParseAddr(ip)) {
				t.Errorf("%s may not name %s", c.server, ip)
			}
		}
		for _, ip := range c.refused {
			if n.allows(netip.MustParseAddr(ip)) {
				t.Errorf("%s may name %s", c.server, ip)
			}
		}
	}
}

// TestPublicServerCannotNameThisMachine goes through the client itself, by address and by name.
func TestPublicServerCannotNameThisMachine(t *testing.T) {
	n := newNetwork(t.Context(), "https://203.0.113.9/mcp")
	defer n.close()
	for _, at := range []string{"https://127.0.0.1:1/x", "https://[::1]:1/x", "https://localhost:1/x", "http://localhost:1/x", "https://10.0.0.1/x", "http://example.test/x", "https://user@127.0.0.1/x"} {
		resp, err := n.client().Get(at)
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "refused") && !strings.Contains(err.Error(), "is not https") || strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		resource, server string
		want             bool
	}{
		{"https://a.test/mcp", "https://a.test/mcp", true},
		{"https://A.test/mcp/", "https://a.test/mcp", true},
		{"https://a.test", "https://a.test/mcp", true},
		{"https://a.test/", "https://a.test/mcp?x=1", true},
		{"https://a.test/m", "https://a.test/mcp", false},
		{"https://a.test/mcp/deeper", "https://a.test/mcp", false},
		{"https://b.test/mcp", "https://a.test/mcp", false},
		{"http://a.test/mcp", "https://a.test/mcp", false},
		{"https://a.test:444/mcp", "https://a.test/mcp", false},
		{"https://a.test/mcp?x=2", "https://a.test/mcp?x=1", false},
		{"", "https://a.test/mcp", false},
		{"a.test/mcp", "https://a.test/mcp", false},
		{"https://a.test/mcp#x", "https://a.test/mcp", false},
	} {
		server, err := url.Parse(c.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers(c.resource, server); got != c.want {
			t.Errorf("covers(%q, %q) = %t, want %t", c.resource, c.server, got, c.want)
		}
	}
}

func TestParseChallenge(t *testing.T) {
	h := http.Header{"Www-Authenticate": {
		`Basic realm="x"`,
		`Bearer realm="y", scope="a b", resource_metadata="https://a.test/x", error="insufficient_scope"`,
	}}
	c := ParseChallenge(h)
	if c.Metadata != "https://a.test/x" || !slices.Equal(c.Scopes, []string{"a", "b"}) || !c.InsufficientScope {
		t.Errorf("%+v", c)
	}
}

func TestGood(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		t    tokens
		want bool
	}{
		{tokens{}, false},
		{tokens{Access: "a"}, true},
		{tokens{Access: "a", Obtained: now, Expiry: now.Add(time.Hour)}, true},
		{tokens{Access: "a", Obtained: now.Add(-time.Hour), Expiry: now.Add(20 * time.Second)}, false},
		{tokens{Access: "a", Obtained: now, Expiry: now.Add(20 * time.Second)}, true},
		{tokens{Access: "a", Obtained: now.Add(-2 * time.Hour), Expiry: now.Add(-time.Hour)}, false},
	} {
		if got := c.t.valid(now); got != c.want {
			t.Errorf("%v to %v: %t, want %t", c.t.Obtained.Sub(now), c.t.Expiry.Sub(now), got, c.want)
		}
	}
}

func TestNothingPrintsSecrets(t *testing.T) {
	l := &login{tokens: tokens{Access: "s3cret"}}
	s := Server{Name: "n", URL: "https://s3cret", ClientSecret: "s3cret"}
	if text := fmt.Sprintf("%v %+v %#v %v %+v %#v", l, l, l, s, s, s); strings.Contains(text, "s3cret") {
		t.Errorf(`printed: %s, want no "s3cret" in it`, text)
	}
}

// keys is a keyring in memory.
type keys struct {
	secrets map[string]string
	err     error
}

func (k *keys) Get(name string) (string, error) {
	if k.err != nil {
		return "", k.err
	}
	if s, ok := k.secrets[name]; ok {
		return s, nil
	}
	return "", fs.ErrNotExist
}

func (k *keys) Set(name, secret string) error {
	if k.err == nil {
		k.secrets[name] = secret
	}
	return k.err
}

func (k *keys) Delete(name string) error {
	if k.err == nil {
		delete(k.secrets, name)
	}
	return k.err
}

func TestKeyring(t *testing.T) {
	ring := &keys{secrets: map[string]string{}}
	store := NewStore(filepath.Join(t.TempDir(), "logins"), ring)
	server := Server{Name: "n", URL: "https://a.test/mcp"}
	keep := func() *Result {
		t.Helper()
		r, err := store.keep(t.Context(), server, &login{record: record{Name: "n", Origin: "https://a.test", ClientKnown: byRegistration}, tokens: tokens{Access: "s3cret-access", Refresh: "s3cret-refresh", ClientSecret: "s3cret-client"}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := keep()
	text, err := os.ReadFile(r.Path)
	if err != nil || !r.InKeyring || strings.Contains(string(text), "s3cret") || len(ring.secrets) != 1 {
		t.Fatalf("%+v, %d in the keyring, file %s, %v", r, len(ring.secrets), text, err)
	}
	if l, err := store.loadLogin(server); err != nil || l.Refresh != "s3cret-refresh" || l.ClientSecret != "s3cret-client" {
		t.Fatalf(`loadLogin: %v, want Refresh "s3cret-refresh", ClientSecret "s3cret-client" and no error`, err)
	}

	ring.err = errors.New("locked")
	_, err = store.Source(server, nil, nil).Token(t.Context())
	var needed *LoginError
	if !errors.As(err, &needed) || !strings.Contains(err.Error(), "locked; unlock the keyring, or log in again") {
		t.Errorf("locked: %v", err)
	}
	if err := store.remove(server.id()); err == nil || !strings.Contains(err.Error(), "remove its secrets from the system's keyring") {
		t.Errorf(`remove: %v, want an error and "remove its secrets from the system's keyring" in it`, err)
	}
	// Without a keyring that works the file has it, and works without the keyring.
	if r := keep(); r.InKeyring {
		t.Error("it is said to be in the keyring")
	}
	if token, err := store.Source(server, nil, nil).Token(t.Context()); err != nil || token != "s3cret-access" {
		t.Errorf(`Token %q, %v, want "s3cret-access" and no error`, token, err)
	}
	if _, err := store.remove2(t.Context(), server); err != nil {
		t.Errorf("remove: %v", err)
	}
	ring.err, ring.secrets = nil, map[string]string{}
	keep()
	clear(ring.secrets)
	if _, err := store.loadLogin(server); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no longer in the system's keyring") {
		t.Errorf("emptied keyring: %v", err)
	}
	off := NewStore(store.dir, nil)
	if _, err := off.loadLogin(server); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf(`keyring off: %v, want an error and "switched off" in it`, err)
	}
}

// remove2 is Logout without a network.
func (s *Store) remove2(ctx context.Context, server Server) (bool, error) {
	found, _, err := s.Logout(ctx, server)
	return found, err
}

func TestSystemKeyring(t *testing.T) {
	keyring.MockInit()
	var ring System
	if _, err := ring.Get("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get: %v, want %v", err, fs.ErrNotExist)
	}
	if err := ring.Set("x", "s"); err != nil {
		t.Errorf("Set: %v", err)
	}
	if got, err := ring.Get("x"); err != nil || got != "s" {
		t.Errorf(`Get: %q, %v, want "s" and no error`, got, err)
	}
	if err := ring.Delete("x"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if err := ring.Delete("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Delete: %v, want %v", err, fs.ErrNotExist)
	}
}

func TestStoreThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logins")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := NewStore(dir, nil).keep(t.Context(), Server{Name: "n"}, &login{})
	var bad *StoreError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "not a directory") || bad.Hint() == "" {
		t.Errorf("error %v", err)
	}
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	store := NewStore(t.TempDir(), nil)
	unlock, err := store.lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := store.lock(ctx, "x"); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf(`error %v, want an error and "another process" in it`, err)
	}
	unlock()
	unlock, err = store.lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestCallback(t *testing.T) {
	c, err := listen(LoginOptions{}, "right", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	get := func(path string) (int, string) {
		t.Helper()
		u, err := url.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodGet, "http://"+u.Host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	for _, r := range []struct {
		path   string
		status int
	}{
		{"/", 404},
		{"/callback?code=x&state=wrong", 400},
		{"/callback?code=x", 400},
		{"/callback?state=right", 400},
		{"/callback?code=%3Cscript%3E&state=right", 200},
		{"/callback?code=y&state=right", 400}, // once is enough
	} {
		status, body := get(r.path)
		if status != r.status || strings.Contains(body, "<script>") {
			t.Errorf(`%s: %d %s, want %d and no "<script>" in it`, r.path, status, body, r.status)
		}
	}
	answer, err := c.wait(t.Context(), nil)
	if err != nil || answer.Get("code") != "<script>" {
		t.Errorf("answer %v, %v", answer, err)
	}
}

func TestListen(t *testing.T) {
	first, err := listen(LoginOptions{}, "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	address := first.address
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Sscan(u.Port(), &port); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(LoginOptions{Port: port}, "s", nil); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf(`error %v, want an error and "address already in use" in it`, err)
	}
	first.close()
	named, err := listen(LoginOptions{Host: "localhost"}, "s", nil)
	if err != nil || !strings.HasPrefix(named.address, "http://localhost:") {
		t.Errorf(`%v, %v, want "http://localhost:" at its start and no error`, named, err)
	} else {
		named.close()
	}
}

func TestRemedy(t *testing.T) {
	for name, want := range map[string]string{
		"linear": `run "mcpgen login linear"`, "a b": `run "mcpgen login 'a b'"`, "-x": `run "mcpgen login '-x'"`,
		"it's": `run "mcpgen login 'it'\''s'"`, "": `run "mcpgen login ''"`, "a\x1bb": `run "mcpgen login 'ab'"`,
	} {
		if got := Remedy(name); got != want {
			t.Errorf("Remedy(%q) = %s, want %s", name, got, want)
		}
	}
}
