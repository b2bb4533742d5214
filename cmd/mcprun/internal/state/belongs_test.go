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

// TestAnotherProject opens a named state for two projects. It belongs to the first.
func TestAnotherProject(t *testing.T) {
	dir := t.TempDir()
	app := &cli.App{Dir: dir, LookupEnv: func(string) (string, bool) { return "", false }}
	for _, step := range []struct{ folder, name, want string }{
		{folder: "crm"},
		{folder: "crm"},
		{folder: "elsewhere/crm"}, // on another machine
		{folder: "shop", want: `belongs to the project "crm", not to "shop"`},
		{folder: "crm", name: "shop", want: `belongs to the project "crm", not to "shop"`},
		{folder: "app", name: "crm"},
	} {
		s := (&PlaceFlag{place: "state.db"}).Share(app, filepath.Join(dir, step.folder), step.name)
		_, err := s.Open(t.Context())
		if err == nil && step.want != "" || err != nil && (step.want == "" || !strings.Contains(err.Error(), step.want)) {
			t.Errorf("Open() for %+v = %v", step, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	// Its own state is for nobody else, whatever the folder is called later.
	if s := (&PlaceFlag{}).Share(app, dir, "any"); s.project != "" {
		t.Errorf("Share() without a named place checks the project %q", s.project)
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
