// Package sqldb implements [store.Store] in SQL that SQLite and Postgres both understand. The packages of the databases supply connections,
// transactions and migrations.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Querier runs statements: a connection, a pool or a transaction. Statements have ? for their arguments.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Backend is a database.
type Backend interface {
	// Read returns what may run concurrently, and sees all that was committed.
	Read() Querier
	// Write runs f in a transaction, which is committed if f returns nil. extends says that f adds to the record: no other transaction that
	// does so runs at the same time. It may run f again if nothing was committed. After an error of the commit, everything or nothing is written.
	Write(ctx context.Context, extends bool, f func(q Querier) error) error
	// Remembers reports whether to begin with the size of the record that this process knows. It is wrong if another process has written.
	Remembers() bool
	// Bytes is an SQL query for the size of the database.
	Bytes() string
	// Now is an SQL expression for the database's time in microseconds since 1970.
	Now() string
	// Error returns an error of the database as one of package store, if it is one of these, with the place.
	Error(err error) error
}

// DB implements the methods of [store.Store] that read and write.
type DB struct {
	backend Backend
	size    atomic.Int64 // of the record, as last seen; -1: unknown
}

// New returns a store in a database that has the tables.
func New(b Backend) *DB {
	d := &DB{backend: b}
	d.size.Store(-1)
	return d
}

// About implements [store.Store].
func (d *DB) About(ctx context.Context) (a store.About, err error) {
	err = d.backend.Read().QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&a.Version)
	if err == nil {
		err = d.backend.Read().QueryRowContext(ctx, d.backend.Bytes()).Scan(&a.Bytes)
	}
	return a, d.failed("ask the database about itself", err)
}

// failed adds to an error what could not be done.
func (d *DB) failed(what string, err error) error {
	if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return err
	}
	return fmt.Errorf("%s: %w", what, d.backend.Error(err))
}

// list calls each with the rows of a query, which scan reads.
func list(ctx context.Context, q Querier, each func(scan func(to ...any) error) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// tuples returns n tuples of width marks each, as the VALUES of an insert.
func tuples(n, width int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", width), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
}

// marks returns n marks, as a list of values.
func marks(n int) string { return tuples(1, n) }

func micros(t time.Time) int64 { return t.UnixMicro() }

func at(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
