// Package postgres keeps a store in a Postgres database, which several machines may share.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// connections bounds those of one process.
	connections = 10
	// extending is the advisory lock of whoever adds to the record. Its number has no meaning.
	extending = 0x6d637072756e
)

// Store is a store in a database.
type Store struct {
	*sqldb.DB
	backend *backend
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the database at a URL such as postgres://user@host/name, and adds missing tables. The driver takes what the URL
// leaves out from the variables and files of libpq, such as PGPASSWORD and ~/.pgpass. The error matches [store.ErrNewer] for tables of a
// later version. Neither errors nor Place hold the password.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("open the state: the address of the database is not of the form postgres://user@host:port/name") // the driver's error quotes it
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	b := &backend{db: db, place: place(config)}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open the state in %s: %w", b.place, b.Error(err)), db.Close())
	}
	return &Store{sqldb.New(b), b}, nil
}

func place(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}

// migrate adds missing tables. One process does so at a time.
func migrate(ctx context.Context, db *sql.DB) error {
	tables, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	session, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, tables, goose.WithLogger(goose.NopLogger()), goose.WithSessionLocker(session))
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	var version sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&version); err == nil && version.Int64 >= newest {
		if version.Int64 > newest {
			return store.ErrNewer
		}
		return nil
	}
	_, err = provider.Up(ctx)
	return err
}

// Place implements [store.Store].
func (s *Store) Place() string { return s.backend.place }

// Close implements [store.Store].
func (s *Store) Close() error { return s.backend.db.Close() }

// Extend implements [store.Record]. If the connection breaks while the database answers, it looks whether the rows are there.
func (s *Store) Extend(ctx context.Context, next func(int64, tlog.HashReader) (store.Addition, error)) error {
	var size int64
	var added store.Addition
	err := s.DB.Extend(ctx, func(n int64, hashes tlog.HashReader) (store.Addition, error) {
		add, err := next(n, hashes)
		size, added = n, add
		return add, err
	})
	if err == nil || !isLost(err) || len(added.Hashes) == 0 {
		return err
	}
	first := tlog.StoredHashIndex(0, size)
	there, failed := s.Hashes(ctx, []int64{first})
	if failed == nil && there[0] == added.Hashes[0] {
		return nil
	}
	return err
}

// isLost reports whether an error leaves open what the database has done.
func isLost(err error) bool {
	_, answered := errors.AsType[*pgconn.PgError](err)
	return !answered
}

// backend implements [sqldb.Backend].
type backend struct {
	db    *sql.DB
	place string
}

// Read implements [sqldb.Backend].
func (b *backend) Read() sqldb.Querier { return numbered{b.db} }

// Now implements [sqldb.Backend].
func (b *backend) Now() string {
	return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
}

// Write implements [sqldb.Backend].
func (b *backend) Write(ctx context.Context, extends bool, f func(sqldb.Querier) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of what was not committed
	if extends {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(extending)); err != nil {
			return err
		}
	}
	if err := f(numbered{tx}); err != nil {
		return err
	}
	return tx.Commit()
}

// Error implements [sqldb.Backend].
func (b *backend) Error(err error) error {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && (failure.Code == "53100" || failure.Code == "53200"): // disk_full, out_of_memory
		return fmt.Errorf("%w: %s answers: %s", store.ErrFull, b.place, failure.Message)
	case ok:
		return fmt.Errorf("%s answers: %w", b.place, err)
	}
	if refused, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fmt.Errorf("%s cannot be reached: %w", b.place, errors.Unwrap(refused))
	}
	return err
}

// numbered passes statements on with their arguments numbered, as Postgres wants them.
type numbered struct{ to sqldb.Querier }

func (q numbered) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return q.to.ExecContext(ctx, number(query), args...)
}

func (q numbered) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return q.to.QueryContext(ctx, number(query), args...)
}

func (q numbered) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return q.to.QueryRowContext(ctx, number(query), args...)
}

// number replaces each ? of a statement by $1, $2 and so on. No statement has a ? in a text.
func number(query string) string {
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, more := strings.Cut(query, "?")
		b.WriteString(before)
		if !more {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}
