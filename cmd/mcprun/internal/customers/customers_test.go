package customers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * day, "12h": 12 * time.Hour, "90m": 90 * time.Minute} {
		var d time.Duration
		if err := days(&d).Set(text); err != nil || d != want {
			t.Errorf("Set(%q) = %v, %v, want %v", text, d, err, want)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1d", "30", "1e9d", "-3h", "x"} {
		var d time.Duration
		if err := days(&d).Set(text); err == nil {
			t.Errorf("Set(%q) = %v, want an error", text, d)
		}
	}
	d := 30 * day
	if got := days(&d).String(); got != "30d" {
		t.Errorf("String() = %q, want 30d", got)
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 0: "just now", time.Minute: "1 minute ago", 3 * time.Hour: "3 hours ago", 40 * day: "40 days ago",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q", d, got)
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
