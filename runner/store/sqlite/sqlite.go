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
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
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
	// idleReaders bounds the connections for reading that are kept. Their number has no bound: a callback of one may read too.
	idleReaders = 4
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
	if c.pool, err = connect(path, "journal_mode(WAL)", "synchronous("+sync+")", "secure_delete(true)"); err != nil {
		return nil, err
	}
	c.pool.SetMaxOpenConns(1)
	if err := migrate(ctx, c.pool, path); err != nil {
		return nil, err
	}
	if c.writer, err = c.pool.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil { // see begin
		return nil, err
	}
	if c.read, err = connect(path, "query_only(true)"); err != nil {
		return nil, err
	}
	c.read.SetMaxIdleConns(idleReaders)
	return &Store{sqldb.New(c), c}, nil
}

// create creates a missing file. It does not open one that exists: closing it would release the locks that SQLite holds in this process.
func create(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			return f.Close()
		}
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", store.ErrUnusable, err)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is not a regular file", store.ErrUnusable)
	}
	return err
}

// connect returns a pool of connections with these settings.
func connect(path string, pragmas ...string) (*sql.DB, error) {
	values := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTime.Milliseconds())}, pragmas...)}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: values.Encode()}).String())
}

// migrate adds missing tables. One process does so at a time, or looks whether it has to: its first connection makes a new file use the
// write-ahead log, and SQLite does not wait for others at that.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	tables, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, tables, goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	unlock, err := kept.Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
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
func (s *Store) Place() string { return s.conns.path }

// Close implements [store.Store].
func (s *Store) Close() error { return s.conns.close() }

// Forget implements [store.Record]. It overwrites what it removes, in the log too, unless somebody reads the log at that moment.
func (s *Store) Forget(ctx context.Context, before int64) (removed int64, err error) {
	removed, err = s.DB.Forget(ctx, before)
	if err == nil {
		s.conns.turn <- struct{}{}
		defer func() { <-s.conns.turn }()
		_, err = s.conns.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return removed, err
}

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
		c.turn <- struct{}{}
		defer func() { <-c.turn }()
		for _, s := range c.statements {
			errs = append(errs, s.Close())
		}
		clear(c.statements)
		if err := c.writer.Close(); !errors.Is(err, sql.ErrConnDone) {
			errs = append(errs, err)
		}
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

// Remembers implements [sqldb.Backend].
func (c *connections) Remembers() bool { return true }

// Bytes implements [sqldb.Backend].
func (c *connections) Bytes() string {
	return "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
}

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
	if err := c.begin(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // its end must be known
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

// begin begins a transaction, as soon as no other process writes. It waits itself, because SQLite would not wait fairly, and would not stop
// when ctx ends.
func (c *connections) begin(ctx context.Context) error {
	try := func() error {
		_, err := c.ExecContext(context.WithoutCancel(ctx), "BEGIN IMMEDIATE")
		return err
	}
	err := try()
	if !isBusy(err) {
		return err
	}
	pauses := &backoff.ExponentialBackOff{InitialInterval: 200 * time.Microsecond, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: 5 * time.Millisecond}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		err := try()
		if err != nil && !isBusy(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(busyTime))
	return err
}

func isBusy(err error) bool {
	failure, ok := errors.AsType[*driver.Error](err)
	return ok && failure.Code()&0xff == lib.SQLITE_BUSY
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
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) { // of the files beside it
		return fmt.Errorf("%w: %w", store.ErrUnusable, err)
	}
	failure, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	full := fmt.Errorf("%w: the disk of %s is full, or a quota is used up", store.ErrFull, c.path)
	switch failure.Code() {
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE: // a quota; the file of shared memory cannot grow
		return fmt.Errorf("%w (%w)", full, err)
	}
	switch failure.Code() & 0xff {
	case lib.SQLITE_FULL:
		return full
	case lib.SQLITE_BUSY:
		return fmt.Errorf("another process has been writing to %s for %v: end it (%w)", c.path, busyTime, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %s is damaged, or not a database of mcprun (%w)", store.ErrUnusable, c.path, err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("%w: %s cannot be written: %w", store.ErrUnusable, c.path, err)
	}
	return err
}
