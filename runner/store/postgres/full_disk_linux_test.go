package postgres_test

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/storetest"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// TestFullDisk fills the disk of a database's tables, checks that nothing is half written, and goes on when there is room.
func TestFullDisk(t *testing.T) {
	address := pgtest.Database(t)
	disk, ballast := smallDisk(t, address)
	s := opener(t, address)()
	written := int64(0)
	var err error
	for err == nil && written < 100_000 {
		if _, err = storetest.Append(t.Context(), s, store.Row{Kind: "call", Run: "run-1"}); err == nil {
			written++
		}
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("Extend() on a full disk = %v after %d rows, want ErrFull", err, written)
	}
	if size := storetest.Check(t, s); size != written {
		t.Errorf("%d rows on a full disk, want %d", size, written)
	}
	if err := os.Remove(filepath.Join(disk, ballast)); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"}); err != nil {
		t.Errorf("Extend() with room again = %v", err)
	}
	storetest.Check(t, s)
}

// smallDisk puts the tables that will be created in a database on a disk of 2 MB, which has a file that can be removed to make room.
func smallDisk(t *testing.T, address string) (disk, ballast string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("mounting a small disk needs root")
	}
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	folder := at.Query().Get("host") // the server can read it
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	disk = filepath.Join(folder, "disk")
	tables := filepath.Join(disk, "tables")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	err = errors.Join(os.Mkdir(tables, 0o700), os.Chown(tables, int(owner.Uid), int(owner.Gid)), os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 600<<10), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	database := at.Path[1:]
	at.Path = "/postgres"
	db, err := sql.Open("pgx", at.String())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := db.Exec(s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	exec("CREATE TABLESPACE small LOCATION '"+tables+"'", "ALTER DATABASE "+database+" SET default_tablespace = small")
	t.Cleanup(func() {
		exec("DROP DATABASE "+database+" WITH (FORCE)", "DROP TABLESPACE small")
		_ = db.Close()
	})
	return disk, "ballast"
}
