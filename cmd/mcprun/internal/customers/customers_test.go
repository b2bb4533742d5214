package customers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

func TestIdleNeedsItsUnit(t *testing.T) {
	var d time.Duration
	if err := flags.WithUnit(&d).Set("30d"); err != nil || d != 30*day {
		t.Errorf("Set(30d) = %v, %v, want %v and no error", d, err, 30*day)
	}
	if err := flags.WithUnit(&d).Set("30"); err == nil || !strings.Contains(err.Error(), "write for example 30d") {
		t.Errorf("Set(30) = %v, want an error that suggests 30d", err)
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 0: "just now", time.Minute: "1 minute ago", 3 * time.Hour: "3 hours ago", 40 * day: "40 days ago",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if ago(now, time.Time{}) != "never" || !strings.HasPrefix(ago(now, now.Add(-90*day)), "2026-07-") {
		t.Error(ago(now, now.Add(-90*day)))
	}
}

func TestRefuseCustomers(t *testing.T) {
	base := t.TempDir()
	customers := filepath.Join(base, "workspaces")
	if err := os.MkdirAll(filepath.Join(customers, "acme", "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(customers, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	for name, refused := range map[string]bool{
		"workspaces": true, "workspaces/acme/state": true, ".": true, "link/acme": true, "workspace": false, "workspaces2": false, "new/folder": false,
	} {
		if err := RefuseCustomers(customers, filepath.Join(base, name)); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := RefuseCustomers(filepath.Join(base, "none"), base); err != nil {
		t.Error(err)
	}
}

// TestTokenWords checks that calls without a script are not reported as free.
func TestTokenWords(t *testing.T) {
	for want, tokens := range map[string]customer.Tokens{
		"tokens not counted": {},
		"1 token used":       {Used: 1},
		"10 tokens used, 40 with search-then-call (75.0 % saved)": {Used: 10, Search: 40},
	} {
		if got := tokenWords(&tokens); got != want {
			t.Errorf("%+v: %q, want %q", tokens, got, want)
		}
	}
}
