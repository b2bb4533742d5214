// Package sqlitedb opens SQLite files for the demo servers: one handle that
// reads and one that writes. Start at [Open].
package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/seed"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// DB is one SQLite file.
type DB struct {
	Read  *sql.DB // opened read-only
	Write *sql.DB
}

// Open opens dir/name.sqlite. If dir does not exist, it is created with a
// database that the statements of first have filled. Any number of processes
// may do so at the same time.
func Open(ctx context.Context, dir, name, first string) (*DB, error) {
	err := seed.Dir(dir, func(tmp string) error {
		// WAL is a property of the file: readers do not block the writer.
		db, err := open(filepath.Join(tmp, name+".sqlite"), "rwc", "journal_mode(WAL)")
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "BEGIN;"+first+"COMMIT;")
		return errors.Join(err, db.Close())
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, name+".sqlite")
	write, err := open(file, "rw", "foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	// SQLite allows only one writer; more would wait for its lock.
	write.SetMaxOpenConns(1)
	read, err := open(file, "ro", "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(8)
	return &DB{Read: read, Write: write}, nil
}

// Close closes both handles.
func (db *DB) Close() error { return errors.Join(db.Read.Close(), db.Write.Close()) }

func open(file, mode, pragma string) (*sql.DB, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	query := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(10000)", pragma}}
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: query.Encode()}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open the demo database: %w", err)
	}
	return db, nil
}

// Row reads the current row of rows as an object, with column names as keys.
func Row(rows *sql.Rows) (map[string]tool.Scalar, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	if err := rows.Scan(pointers...); err != nil {
		return nil, err
	}
	row := make(map[string]tool.Scalar, len(columns))
	for i, name := range columns {
		row[name] = values[i]
	}
	return row, nil
}
