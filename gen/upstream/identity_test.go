package upstream

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestIdentity changes one thing after the other of a configured server.
func TestIdentity(t *testing.T) {
	env := map[string]string{"TOKEN": "one", "HOME": "/home/ann"}
	of := func(change func(*config.Server, map[string]string)) Identity {
		t.Helper()
		own := maps.Clone(env)
		srv := config.Server{Key: "crm", Transport: config.TransportStdio, Command: "crm", Args: []string{"-x"}, Env: map[string]string{"CRM_TOKEN": "${TOKEN}"}, Dir: "/p"}
		change(&srv, own)
		p := testPool(t, &Options{Lookup: func(name string) (string, bool) { v, ok := own[name]; return v, ok }}, srv)
		id, err := p.Identity(srv.Key)
		if err != nil || id == (Identity{}) {
			t.Fatalf("Identity() = %v, %v", id, err)
		}
		return id
	}
	same := func(*config.Server, map[string]string) {}
	own := of(same)
	if again := of(same); again != own {
		t.Error("two pools of one server have two identities")
	}
	seen := map[Identity]string{own: "the server"}
	for name, change := range map[string]func(*config.Server, map[string]string){
		"another name":     func(s *config.Server, _ map[string]string) { s.Key = "shop" },
		"another command":  func(s *config.Server, _ map[string]string) { s.Command = "other" },
		"another argument": func(s *config.Server, _ map[string]string) { s.Args = []string{"-y"} },
		"another token":    func(_ *config.Server, env map[string]string) { env["TOKEN"] = "two" },
		"no token":         func(s *config.Server, _ map[string]string) { s.Env = nil },
		"another folder":   func(s *config.Server, _ map[string]string) { s.Cwd = "/q" },
		"another home":     func(_ *config.Server, env map[string]string) { env["HOME"] = "/home/bob" },
		"a remote one":     func(s *config.Server, _ map[string]string) { *s = remote("https://a.example/mcp", "") },
		"another address":  func(s *config.Server, _ map[string]string) { *s = remote("https://b.example/mcp", "") },
		"with a header":    func(s *config.Server, _ map[string]string) { *s = remote("https://a.example/mcp", "Bearer ${TOKEN}") },
		"with OAuth's data": func(s *config.Server, _ map[string]string) {
			*s = remote("https://a.example/mcp", "")
			s.OAuth = &config.OAuth{ClientID: "c", ClientSecret: "${TOKEN}"}
		},
	} {
		id := of(change)
		if other, ok := seen[id]; ok {
			t.Errorf("%s has the identity of %s", name, other)
		}
		seen[id] = name
	}
	if _, err := testPool(t, &Options{}, config.Server{Key: "crm", Transport: config.TransportStdio, Command: "${NO_SUCH}"}).Identity("crm"); err == nil {
		t.Error("Identity() of a server whose variable is not set: want an error")
	}
}

func remote(url, authorization string) config.Server {
	s := config.Server{Key: "crm", Transport: config.TransportHTTP, URL: url}
	if authorization != "" {
		s.Headers = map[string]string{"Authorization": authorization}
	}
	return s
}

// TestIdentityOfLogins logs in twice. A session keeps the identity of the login that it uses.
func TestIdentityOfLogins(t *testing.T) {
	t.Parallel()
	c := newScene(t, protectedServer{})
	p := testPool(t, c.opts, c.srv)
	identity := func() Identity {
		t.Helper()
		id, err := p.Identity(c.srv.Key)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	origin := func() Identity {
		t.Helper()
		var o Origin
		if _, err := p.Call(testContext(t), c.srv.Key, upstreamtest.ToolEcho, nil, &CallOptions{Origin: &o}); err != nil || o.Asked() {
			t.Fatalf("Call() = %v, asked %t", err, o.Asked())
		}
		return o.Identity
	}
	before := identity()
	c.mustLogin(t)
	first := identity()
	if first == before || origin() != first {
		t.Error("want that a login changes the identity, and that calls have the new one")
	}
	c.mustLogin(t)
	if second := identity(); second == first || second == before {
		t.Error("another login has the identity of an earlier one")
	}
	if got := origin(); got != first {
		t.Errorf("the call of a session that has the token of the first login is of %x, want %x", got, first)
	}
}

// TestOriginAsked calls tools that ask a person, who may be there or not.
func TestOriginAsked(t *testing.T) {
	inEveryWay(t, func(t *testing.T, s *Session) {
		accept := func(context.Context, *Question) (*Reply, error) { return &Reply{Action: "decline"}, nil }
		for _, elicit := range []ElicitFunc{accept, nil} {
			for tool, want := range map[string]bool{upstreamtest.ToolPage: true, upstreamtest.ToolEcho: false} {
				var o Origin
				if _, err := s.Call(testContext(t), tool, json.RawMessage(`{"url":"https://example.com"}`), &CallOptions{Origin: &o, Elicit: elicit}); err != nil || o.Asked() != want {
					t.Errorf("%s: Asked() = %t, %v, want %t", tool, o.Asked(), err, want)
				}
			}
		}
	})
}
