package mcpserver_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestLogins: each session is a login, requests without one are one together, and a flood of bad tokens is one refusal in a second.
func TestLogins(t *testing.T) {
	var mu sync.Mutex
	var got []mcpserver.Login
	login := func(l mcpserver.Login) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, l)
	}
	var clients []mcpserver.Client
	w := newFixture(t)
	w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
		clients = append(clients, job.Client)
		return &runner.Result{Cause: runner.CauseExit}, nil
	}
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t), Login: login})
	for range 50 { // within a few seconds
		if status, _, _ := post(t, srv.URL, initialize, map[string]string{"Authorization": "Bearer wrong"}); status != 401 {
			t.Errorf("a bad token: status %d, want 401", status)
		}
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for range 2 {
			cs := connect(t, srv.URL, tokenOfAda, revision, nil)
			call(t, cs, "execute_code", map[string]any{"code": "1"})
		}
	}
	ada := mcpserver.Login{Customer: "ada", Address: "127.0.0.1"}
	refused := slices.Index(got, ada)
	if refused < 1 || refused > 25 || got[0] != (mcpserver.Login{Address: "127.0.0.1", Refused: true}) || !slices.Equal(got[refused:], []mcpserver.Login{ada, ada, ada}) {
		t.Errorf("the logins are %+v, want a few that were refused, then %+v three times", got, ada)
	}
	before := len(got)
	if x := (mcpserver.Client{Name: "test", Version: "1"}); !slices.Equal(clients, []mcpserver.Client{x, x, x, x}) {
		t.Errorf("the clients are %+v, want %+v four times", clients, x)
	}
	open := w.web(w.server(), &mcpserver.HTTPOptions{Customer: "acme", Login: login})
	call(t, connect(t, open.URL, "", "2025-11-25", nil), "execute_code", map[string]any{"code": "1"})
	if len(got) != before {
		t.Errorf("without tokens there are logins: %+v", got[before:])
	}
}
