package state

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestAnotherProject opens a named state for two projects. It belongs to the first.
func TestAnotherProject(t *testing.T) {
	dir := t.TempDir()
	app := &cli.App{Dir: dir, LookupEnv: func(string) (string, bool) { return "", false }}
	for _, step := range []struct{ name, want string }{
		{name: ""}, // without a configuration
		{name: "crm"},
		{name: "crm"},
		{name: "shop", want: `belongs to the project "crm", not to "shop"`},
		{name: ""},
		{name: "crm"},
	} {
		s := (&PlaceFlag{place: "state.db"}).Share(app, dir, step.name)
		_, err := s.Open(t.Context())
		if err == nil && step.want != "" || err != nil && (step.want == "" || !strings.Contains(err.Error(), step.want)) {
			t.Errorf("Open() for %q = %v", step.name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	// Its own state is for nobody else, whatever it is called later.
	if s := (&PlaceFlag{}).Share(app, dir, "any"); s.project != "" {
		t.Errorf("Share() without a named place checks the project %q", s.project)
	}
}

// TestNameOf reads names of projects from their settings and folders.
func TestNameOf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crm")
	for name, want := range map[string]string{"": "crm", "sales": "sales"} {
		if got := project.NameOf(&config.Config{Dir: dir, Settings: config.Settings{Name: name}}); got != want {
			t.Errorf("NameOf() with name %q = %q, want %q", name, got, want)
		}
	}
	if got := project.NameOf(nil); got != "" {
		t.Errorf("NameOf(nil) = %q", got)
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
