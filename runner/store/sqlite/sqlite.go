// Package sqlite keeps a store in a SQLite file, with a write-ahead log beside it. Processes on one machine may share it. The file must be on
// a local disk, because SQLite locks parts of it.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// busyTime is how long a transaction waits for those of other processes.
	busyTime = 20 * time.Second
	// readers bounds the connections that read.
	readers = 4
)

// Options configure a Store. The zero value is a good default.
type Options struct {
	// Sync makes each transaction wait until the disk has it. Without it, the power failing may cost the last transactions; the death of
	// a process never does.
	Sync bool
}

// Store is a store in a file.
type Store struct {
	*sqldb.DB
	conns *connections
}

var _ store.Store = (*Store)(nil)

// Open opens a store in a file. It creates a missing file with mode 0600, and its folder with mode 0700, and adds missing tables. The
// error matches [store.ErrNewer] for a file of a later version.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	s, err := open(ctx, path, opt)
	if err != nil {
		return nil, fmt.Errorf("open the state in %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, opt Options) (_ *Store, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	c := &connections{path: path, turn: make(chan struct{}, 1), statements: map[string]*sql.Stmt{}}
	defer func() {
		if err != nil {
			err = errors.Join(c.Error(err), c.close())
		}
	}()
	sync := "NORMAL"
	if opt.Sync {
		sync = "FULL"
	}
	if c.pool, err = connect(path, "synchronous("+sync+")", "journal_mode(WAL)"); err != nil {
		return nil, err
	}
	c.pool.SetMaxOpenConns(1)
	if err := migrate(ctx, c.pool, path); err != nil {
		return nil, err
	}
	if c.writer, err = c.pool.Conn(ctx); err != nil {
		return nil, err
	}
	if c.read, err = connect(path, "query_only(true)"); err != nil {
		return nil, err
	}
	c.read.SetMaxOpenConns(readers)
	return &Store{sqldb.New(c), c}, nil
}

// create creates a missing file. It does not open one that exists: closing it would end the locks that this process has on it.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return f.Close()
	}
	info, failed := os.Stat(path)
	switch {
	case failed != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a file")
	}
	return nil
}

// connect returns a pool of connections with these settings.
func connect(path string, pragmas ...string) (*sql.DB, error) {
	values := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTime.Milliseconds())}, pragmas...)}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: values.Encode()}).String())
}

// migrate adds missing tables. One process does so at a time.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	tables, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, tables, goose.WithLogger(goose.NopLogger()))
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
	unlock, err := kept.Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	_, err = provider.Up(ctx)
	return err
}

// Place implements [store.Store].
func (s *Store) Place() string { return s.conns.path }

// Close implements [store.Store].
func (s *Store) Close() error { return s.conns.close() }

// connections implements [sqldb.Backend].
type connections struct {
	path   string
	pool   *sql.DB // of the writer
	read   *sql.DB
	writer *sql.Conn
	// turn holds a value while the writer is in use.
	turn       chan struct{}
	statements map[string]*sql.Stmt // of the writer, by their text
}

func (c *connections) close() error {
	var errs []error
	if c.writer != nil {
		c.turn <- struct{}{} // for good
		for _, s := range c.statements {
			errs = append(errs, s.Close())
		}
		errs = append(errs, c.writer.Close())
	}
	for _, db := range []*sql.DB{c.pool, c.read} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Read implements [sqldb.Backend].
func (c *connections) Read() sqldb.Querier { return c.read }

// Now implements [sqldb.Backend].
func (c *connections) Now() string { return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)" }

// Write implements [sqldb.Backend]. All transactions that write run one after the other.
func (c *connections) Write(ctx context.Context, _ bool, f func(sqldb.Querier) error) (err error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	ctx = context.WithoutCancel(ctx) // a transaction that has begun takes microseconds, and its end must be known
	if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = c.ExecContext(ctx, "ROLLBACK") // SQLite may have done it
		}
	}()
	if err := f(c); err != nil {
		return err
	}
	_, err = c.ExecContext(ctx, "COMMIT")
	committed = err == nil
	return err
}

// prepared returns a statement of the writer.
func (c *connections) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := c.statements[query]; s != nil {
		return s, nil
	}
	s, err := c.writer.PrepareContext(ctx, query)
	if err == nil {
		c.statements[query] = s
	}
	return s, err
}

// ExecContext implements [sqldb.Querier] for the writer.
func (c *connections) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// QueryContext implements [sqldb.Querier] for the writer.
func (c *connections) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// QueryRowContext implements [sqldb.Querier] for the writer.
func (c *connections) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return c.writer.QueryRowContext(ctx, query, args...) // it fails in the same way
	}
	return s.QueryRowContext(ctx, args...)
}

// Error implements [sqldb.Backend].
func (c *connections) Error(err error) error {
	failure, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	switch failure.Code() & 0xff {
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: the disk of %s is full, or the file may not grow", store.ErrFull, c.path)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%s is damaged, or not a database of mcprun (%w): move it away, or name another file", c.path, err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("%s cannot be written: %w", c.path, err)
	}
	return err
}
