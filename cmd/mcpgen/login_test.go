package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// loginApp runs the program in a project with a remote server that wants a login, and a local one.
func loginApp(t *testing.T, env map[string]string) (run func(args ...string) (code int, out string)) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	text := `{"mcpServers":{"web":{"type":"http","url":"` + srv.URL + `/mcp"},"local":{"command":"no-such-program-here"}}}`
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"), cli.KeyringVariable: "off", "MCPGEN_TRUST": "1", "PATH": os.Getenv("PATH")}
	for name, value := range env {
		vars[name] = value
	}
	return func(args ...string) (int, string) {
		var out bytes.Buffer
		app := &cli.App{
			Name: "mcpgen", Dir: dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		code := app.Run(ctx, newRootCmd(app), args)
		return code, out.String()
	}
}

func TestLoginCommands(t *testing.T) {
	run := loginApp(t, nil)
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"sync", "--server", "web"}, 3, `run "mcpgen login web"`},
		{[]string{"login"}, 2, "give SERVER: mcpgen login SERVER"},
		{[]string{"login", "nobody"}, 2, `no server "nobody"`},
		{[]string{"login", "local"}, 3, "is started by a command"},
		{[]string{"login", "web", "--port", "70000"}, 2, "no port 70000"},
		{[]string{"login", "web", "--no-browser"}, 3, "register with the authorization server"}, // guessed, and it refuses too
		{[]string{"login", "--list"}, 0, "there are no logins"},
		{[]string{"logout", "web"}, 0, "there was no login to web"},
		{[]string{"logout", "nobody"}, 2, `no server "nobody"`},
	} {
		code, out := run(c.args...)
		if code != c.code || !strings.Contains(out, c.text) {
			t.Errorf("%q: %d, want %d and %q\n%s", c.args, code, c.code, c.text, out)
		}
	}
}

func TestLoginWithoutAPlaceForIt(t *testing.T) {
	run := loginApp(t, map[string]string{"XDG_STATE_HOME": "relative", "HOME": "", "LOCALAPPDATA": ""})
	for _, args := range [][]string{{"login", "web"}, {"login", "--list"}, {"logout", "web"}} {
		if code, out := run(args...); code != 2 || !strings.Contains(out, "no place to keep logins") {
			t.Errorf("%q: %d, want 2 and \"no place to keep logins\" in it\n%s", args, code, out)
		}
	}
	if code, out := run("sync", "--server", "web"); code != 3 || !strings.Contains(out, "401 Unauthorized") {
		t.Errorf("sync: %d, want 3 and \"401 Unauthorized\" in it\n%s", code, out)
	}
}
