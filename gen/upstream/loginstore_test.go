package upstream

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestTokensStayOut looks for tokens in everything that comes out, and has a server repeat them.
func TestTokensStayOut(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{})
	log := &record{}
	c.opts.Logger = log.logger()
	c.mustLogin(t)
	s := open(t, c.srv, c.opts)
	mustCall(t, s, upstreamtest.ToolEcho, `{}`)
	live := c.auth.live()
	if len(live) != 2 {
		t.Fatalf("%d live tokens, want 2", len(live))
	}
	for _, token := range live {
		if got := s.Conceal("it is " + token + "!"); strings.Contains(got, token) {
			t.Errorf("Conceal leaves %q, want no %q in it", got, token)
		}
		if got := s.ConcealIn(json.RawMessage(`{"description":"` + token + `"}`)); strings.Contains(string(got), token) {
			t.Errorf("ConcealIn leaves %s, want no %q in it", got, token)
		}
		// The echo of an unknown tool's name comes back in an error.
		_, err := s.Call(testContext(t), token, nil, nil)
		if err == nil || strings.Contains(err.Error(), "unknown tool: "+token) {
			t.Errorf("error %v, want an error and no %q in it", err, "unknown tool: "+token)
		}
		if strings.Contains(log.String(), token) {
			t.Errorf("the log holds a token, want no %q in it", token)
		}
		// The files are for their owner alone.
		files, _ := filepath.Glob(filepath.Join(c.dir, "*.json"))
		for _, f := range files {
			if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f, info.Mode(), err)
			}
		}
	}
	if info, err := os.Stat(c.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", info.Mode(), err)
	}
}

func TestTokensAreForTheirServer(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{})
	c.mustLogin(t)
	// Another project has a server of the same name, somewhere else.
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(other.Close)
	srv := c.srv
	srv.URL = other.URL + "/mcp"
	_, err := Connect(testContext(t), srv, c.opts)
	wantLogin(t, err, "asks for a login")
	// The server itself sends us elsewhere.
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/mcp", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(redirecting.Close)
	srv.URL = redirecting.URL + "/mcp"
	if _, err := Connect(testContext(t), srv, c.opts); err == nil {
		t.Error("the redirect was followed: got no error, want an error")
	}
	for _, header := range got {
		if header != "" {
			t.Errorf(`the token went to another server: got %v, want ""`, header)
		}
	}
}

func TestDamagedStore(t *testing.T) {
	damage := map[string]struct {
		do   func(t *testing.T, file string)
		text string
	}{
		"no JSON":       {func(t *testing.T, f string) { write(t, f, `{"version":1,`) }, "it is damaged"},
		"empty":         {func(t *testing.T, f string) { write(t, f, ``) }, "it is damaged"},
		"newer version": {func(t *testing.T, f string) { write(t, f, `{"version":9,"data":{}}`) }, "its version is 9"},
		"no secret":     {func(t *testing.T, f string) { write(t, f, `{"version":1,"data":{"server":"fake"}}`) }, "keyring"},
		"readable by others": {func(t *testing.T, f string) {
			if err := os.Chmod(f, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "other users can read it (mode 0644)"},
	}
	for name, d := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, protectedServer{})
			r := c.mustLogin(t)
			d.do(t, r.Path)
			_, err := Connect(testContext(t), c.srv, c.opts)
			wantLogin(t, err, d.text)
			if !strings.Contains(err.Error(), filepath.Base(r.Path)) {
				t.Errorf("error %q does not name the file, want %v in it", err, filepath.Base(r.Path))
			}
			c.mustLogin(t)
			mustCall(t, open(t, c.srv, c.opts), upstreamtest.ToolEcho, `{}`)
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHostileServerNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../etc/passwd", "a/b", "con", "", "x\x1b[31m", strings.Repeat("n", 5000), "-rf", "it's"} {
		c := newScene(t, protectedServer{})
		c.srv.Key = name
		r := c.mustLogin(t)
		if filepath.Dir(r.Path) != c.dir {
			t.Errorf("%q is kept at %q", name, r.Path)
		}
		c.auth.forget(true)
		if _, err := Connect(testContext(t), c.srv, c.opts); err == nil || !strings.Contains(err.Error(), "mcpgen login ") || strings.Contains(err.Error(), "login -rf") {
			t.Errorf(`error %v, want an error, "mcpgen login " in it and no "login -rf" in it`, err)
		}
	}
}
