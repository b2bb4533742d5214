package state

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestAnotherProject opens a named state for two folders. Each new one is told once, the first not at all.
func TestAnotherProject(t *testing.T) {
	dir := t.TempDir()
	var stderr bytes.Buffer
	app := &cli.App{Dir: dir, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
	for _, step := range []struct{ folder, want string }{
		{"crm", ""},
		{"crm", ""},
		{"elsewhere/crm", ""}, // the same project on another machine
		{"shop", "was used by the project in a folder crm until now, and is used by that in shop from now on"},
		{"shop", ""},
		{"crm", ""},
	} {
		stderr.Reset()
		s := (&PlaceFlag{place: "state.db"}).Share(app, filepath.Join(dir, step.folder))
		if _, err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := stderr.String(); step.want == "" && got != "" || !strings.Contains(got, step.want) {
			t.Errorf("%s: stderr = %q, want %q", step.folder, got, step.want)
		}
	}
}

// TestCheckKey has users of a shared state with two keys.
func TestCheckKey(t *testing.T) {
	first, second := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	check := func(place string, secret []byte) error {
		t.Helper()
		s := &Shared{place: place}
		defer s.Close()
		return s.CheckKey(context.Background(), secret)
	}
	shared := pgtest.Database(t)
	for _, secret := range [][]byte{first, first} {
		if err := check(shared, secret); err != nil {
			t.Errorf("CheckKey() with the first key = %v", err)
		}
	}
	if err := check(shared, second); err == nil || !strings.Contains(err.Error(), "encrypted with another key") {
		t.Errorf("CheckKey() with another key = %v, want an error", err)
	}
	file := filepath.Join(t.TempDir(), "state.db")
	for _, secret := range [][]byte{first, second} {
		if err := check(file, secret); err != nil {
			t.Errorf("CheckKey() of a file, which other machines do not share = %v", err)
		}
	}
}
