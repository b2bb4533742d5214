package runner_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// TestContinuedNetwork: a run that has used the network is not continued; one whose connections were refused is.
func TestContinuedNetwork(t *testing.T) {
	state, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	served := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { served++; fmt.Fprint(w, "ok") }))
	defer web.Close()
	launch := func(url string) error {
		list := machine("embedded")
		list[0].(*fakeBackend).guest = func(g *guest) sandbox.Exit {
			g.begin()
			g.send(object{"type": "request", "id": 1, "method": "network/fetch", "params": object{"method": "GET", "url": url}})
			g.receive()
			g.done(nil)
			return sandbox.Exit{}
		}
		net := &runner.Network{ConnectTo: map[string]string{"api.example:80": web.Listener.Addr().String()}, Settings: &config.Network{Present: true, NetworkPart: config.NetworkPart{Allow: []config.NetworkEntry{{Host: "api.example", Ports: []int{80}, Protocols: []string{"http"}}}}}}
		s := &runner.Script{Name: "s.ts", Code: "1", Language: ts, Network: true}
		var err error
		if s.Calls.Journal, err = journal.Open(t.Context(), state, store.Key{Kind: "journal", Name: "run-1"}, make([]byte, 32)); err != nil {
			t.Fatal(err)
		}
		_, err = newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list, Network: net})
		return err
	}
	for range 2 {
		if err := launch("http://other.example/"); err != nil {
			t.Fatal(err)
		}
	}
	if err := launch("http://api.example/"); err != nil || served != 1 {
		t.Fatalf("Launch() = %v, %d requests, want one", err, served)
	}
	err = launch("http://api.example/")
	if _, ok := errors.AsType[*journal.OutsideError](err); !ok || served != 1 {
		t.Errorf("Launch() of a run that has used the network = %v, %d requests, want an OutsideError and one", err, served)
	}
}
