package durable

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// shared is a Store for tests, in an SQLite file of its own, which several processes may open.
type shared struct{ db *sql.DB }

func openShared(path string) (shared, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		return shared{}, err
	}
	_, err = db.Exec(`CREATE TABLE IF NOT EXISTS leases(name TEXT PRIMARY KEY, owner TEXT, until INTEGER);
		CREATE TABLE IF NOT EXISTS documents(name TEXT PRIMARY KEY, value BLOB, version INTEGER)`)
	return shared{db}, err
}

func newShared(t *testing.T) Store {
	t.Helper()
	s, err := openShared(t.TempDir() + "/shared.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	return s
}

func (s shared) Lease(ctx context.Context, name, owner string, lasts time.Duration) (bool, error) {
	now := time.Now()
	result, err := s.db.ExecContext(ctx, `INSERT INTO leases VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE SET owner = ?2, until = ?3
		WHERE owner = ?2 OR until <= ?4`, name, owner, now.Add(lasts).UnixMilli(), now.UnixMilli())
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

func (s shared) Leases(ctx context.Context, prefix string) (list []store.Lease, _ error) {
	rows, err := s.db.QueryContext(ctx, "SELECT name, owner, until <= ? FROM leases ORDER BY name", time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l store.Lease
		if err := rows.Scan(&l.Name, &l.Owner, &l.Expired); err != nil {
			return nil, err
		}
		if strings.HasPrefix(l.Name, prefix) {
			list = append(list, l)
		}
	}
	return list, rows.Err()
}

func (s shared) Release(ctx context.Context, name, owner string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM leases WHERE name = ? AND owner = ?", name, owner)
	return err
}

func (s shared) Document(ctx context.Context, k store.Key) (*store.Document, error) {
	d := &store.Document{Key: k}
	err := s.db.QueryRowContext(ctx, "SELECT value, version FROM documents WHERE name = ?", k.Name).Scan(&d.Value, &d.Version)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return d, err
}

func (s shared) SetDocument(ctx context.Context, d *store.Document) (int64, error) {
	result, err := s.db.ExecContext(ctx, `INSERT INTO documents SELECT ?1, ?2, ?3 + 1 WHERE ?3 = (SELECT coalesce(max(version), 0) FROM documents WHERE name = ?1)
		ON CONFLICT DO UPDATE SET value = ?2, version = ?3 + 1`, d.Name, d.Value, d.Version)
	if err != nil {
		return 0, err
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return 0, store.ErrConflict
	}
	return d.Version + 1, nil
}

func (s shared) DeleteDocument(context.Context, store.Key) error { panic("not called") }

func (s shared) ListDocuments(context.Context, string, string) ([]store.Document, error) {
	panic("not called")
}
