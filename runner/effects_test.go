package runner_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestEffects checks what a run is said to have done: a file and a connection, also if only refused ones are logged, but no refused connection.
func TestEffects(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer web.Close()
	dir := t.TempDir()
	for _, c := range []struct {
		url, file string
		want      []string
	}{
		{"http://other.example/", "", nil},
		{"http://api.example/", "", []string{"connected to api.example"}},
		{"http://other.example/", "a.txt", []string{"written a.txt"}},
		{"http://api.example/", "b.txt", []string{"written b.txt", "connected to api.example"}},
	} {
		for _, log := range []string{"", config.LogRefused} {
			list := machine("embedded")
			list[0].(*fakeBackend).guest = func(g *guest) sandbox.Exit {
				g.begin()
				for i := range 2 {
					g.send(object{"type": "request", "id": i + 1, "method": "network/fetch", "params": object{"method": "POST", "url": c.url}})
					g.receive()
				}
				if c.file != "" {
					if err := os.WriteFile(filepath.Join(dir, c.file), []byte(log+"x"), 0o600); err != nil {
						t.Error(err)
					}
				}
				g.done(nil)
				return sandbox.Exit{}
			}
			net := &runner.Network{
				ConnectTo: map[string]string{"api.example:80": web.Listener.Addr().String()},
				Settings:  &config.Network{Present: true, Log: log, NetworkPart: config.NetworkPart{Allow: []config.NetworkEntry{{Host: "api.example", Ports: []int{80}, Protocols: []string{"http"}}}}},
			}
			s := &runner.Script{Name: "s.ts", Code: "1", Language: ts, Network: true, Workspace: dir}
			res, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list, Network: net})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Effects(); !slices.Equal(got, c.want) {
				t.Errorf("%s, %q, log %q: Effects() = %q, want %q", c.url, c.file, log, got, c.want)
			}
		}
	}
}
