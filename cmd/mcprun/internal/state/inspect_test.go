package state

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func TestInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	i := Inspect(t.Context(), path, "")
	if _, err := os.Stat(path); err == nil || i.Exists || !i.Answers || i.Recorded != "usual" || i.Error != nil || i.Rows != nil {
		t.Errorf("Inspect() of a missing file = %+v, %v", i, err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := audit.CreateKey(filepath.Join(t.TempDir(), "key"), "x")
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(s, audit.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	log.Later(audit.Entry{Kind: audit.KindRun, Run: "r", Body: audit.RunStart{}})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	i = Inspect(t.Context(), path, "true")
	if !i.Exists || !i.Answers || i.Kind != "sqlite" || i.Recorded != "all" || i.Rows == nil || *i.Rows != 1 || *i.Version < 1 || *i.Bytes < 4096 || i.Head == nil || i.Head.Rows != 1 || i.Head.Time.IsZero() {
		t.Errorf("Inspect() = %+v", i)
	}
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	}
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string][2]string{
		path:    {"newer version", "update mcprun"},
		damaged: {"damaged", "another file"},
		"postgres://ann:secret@127.0.0.1:1/x?password=secret": {"cannot be reached", "start the server"},
		"postgres://ann:secret@%zz":                           {"of the form", "correct its address"},
	} {
		i := Inspect(t.Context(), place, "false")
		if i.Answers || i.Recorded != "none" || i.Error == nil || i.Remedy == nil || !strings.Contains(*i.Error, want[0]) || !strings.Contains(*i.Remedy, want[1]) {
			t.Errorf("Inspect(%q) = %+v, %v, want %q", place, i, i.Error, want)
			continue
		}
		if all := i.Place + *i.Error + *i.Remedy; strings.Contains(all, "secret") {
			t.Errorf("Inspect() shows the password: %s", all)
		}
	}
}
