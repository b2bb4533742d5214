package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// TestRetention checks that opening the record removes contents that are older than audit.retention, and no others.
func TestRetention(t *testing.T) {
	dir := t.TempDir()
	app := &cli.App{Dir: dir, LookupEnv: func(name string) (string, bool) { return filepath.Join(dir, "state"), name == "XDG_STATE_HOME" }}
	warn := func(line string) { t.Error(line) }
	open := func(retention string) (*audit.Log, func()) {
		t.Helper()
		p := &project.Project{Base: dir}
		p.Settings.Audit.Retention = retention
		(&PlaceFlag{}).Attach(app, p)
		log, err := (&Flags{}).OpenLog(t.Context(), app, p, warn)
		if err != nil {
			t.Fatal(err)
		}
		return log, func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	log, end := open("")
	for _, age := range []time.Duration{80 * 24 * time.Hour, 5 * time.Minute} {
		if err := log.Append(t.Context(), audit.Entry{Kind: audit.KindRun, Run: "run-1", Time: time.Now().Add(-age), Body: audit.RunStart{}}); err != nil {
			t.Fatal(err)
		}
	}
	end()
	for range 2 { // the second has nothing to do
		_, end = open("30d")
		end()
	}
	place, err := (&PlaceFlag{}).Place(app, dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	err = s.Rows(t.Context(), store.Range{}, func(r store.Row) error {
		kind := r.Kind
		if r.Content == nil {
			kind += " without content"
		}
		got = append(got, kind)
		return nil
	})
	want := []string{"run without content", "run", "forget"}
	if err != nil || len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("the record has %q, %v, want %q", got, err, want)
	}
}

// TestHeadFile checks that the newest head is kept also with a key of the settings, and that a database in the place of another is not signed.
func TestHeadFile(t *testing.T) {
	for name, home := range map[string]bool{"with a state folder": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			app := &cli.App{Dir: dir, LookupEnv: func(string) (string, bool) { return "", false }}
			if home {
				app.LookupEnv = func(name string) (string, bool) { return filepath.Join(dir, "state"), name == "XDG_STATE_HOME" }
			}
			if _, err := audit.CreateKey(filepath.Join(dir, "audit.key"), "shop"); err != nil {
				t.Fatal(err)
			}
			place := PlaceFlag{filepath.Join(dir, "shop.db")}
			var warned []string
			write := func() {
				t.Helper()
				p := &project.Project{Base: dir}
				p.Settings.Path = filepath.Join(dir, "mcpgen.yaml")
				p.Settings.Audit.Key = &config.Secret{File: "audit.key"}
				place.Attach(app, p)
				log, err := (&Flags{PlaceFlag: place}).OpenLog(t.Context(), app, p, func(line string) { warned = append(warned, line) })
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(log.Append(t.Context(), audit.Entry{Kind: audit.KindRun, Body: audit.RunStart{}}), p.Close()); err != nil {
					t.Fatal(err)
				}
				_, head, _ := KeyFiles(app, place.place)
				if home != slices.Contains(p.Trusted, head) {
					t.Errorf("files that scripts may not change: %q, want %s among them: %v", p.Trusted, head, home)
				}
			}
			write()
			write()
			if _, head, err := KeyFiles(app, place.place); home {
				if text, err := os.ReadFile(head); err != nil || !strings.HasPrefix(string(text), "mcprun/shop\n2\n") {
					t.Errorf("the file has %q, %v, want a head over 2 rows", text, err)
				}
			} else if !errors.Is(err, ErrNoPlace) {
				t.Errorf("KeyFiles() = %v, want %v", err, ErrNoPlace)
			}
			if len(warned) > 0 {
				t.Errorf("warnings: %q", warned)
			}
			if err := os.Remove(place.place); err != nil {
				t.Fatal(err)
			}
			write()
			if home != (len(warned) == 1 && strings.Contains(warned[0], "the record was changed: the head in ")) {
				t.Errorf("warnings about another database: %q", warned)
			}
		})
	}
}

// TestExisting checks that a command that only reads makes no database.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	app := &cli.App{Dir: dir, LookupEnv: func(name string) (string, bool) { return filepath.Join(dir, "state"), name == "XDG_STATE_HOME" }}
	s := (&PlaceFlag{}).Share(app, dir, "")
	defer s.Close()
	if _, err := s.Existing(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Existing() = %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
		t.Error("the state folder was made")
	}
	opened, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Existing(t.Context()); got != opened || err != nil {
		t.Errorf("Existing() = %v, %v, want the open state", got, err)
	}
	homeless := (&PlaceFlag{}).Share(&cli.App{Dir: dir}, dir, "")
	if _, err := homeless.Existing(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a state folder: Existing() = %v, want %v", err, fs.ErrNotExist)
	}
}
