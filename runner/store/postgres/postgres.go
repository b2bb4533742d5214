// Package postgres keeps a store in a Postgres database, which several machines may share.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

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
	// schema has the tables, unless the URL has a search_path.
	schema = "mcprun"
	// retryTime is how long to try again while the server cannot be reached, because it restarts, say.
	retryTime = 15 * time.Second
	// maxOpenings bounds how often the tables are looked for if the connection breaks meanwhile.
	maxOpenings = 4
	// connectTime bounds a connection's start, unless the URL has a connect_timeout.
	connectTime = 10 * time.Second
	// commitTime is how long a transaction goes on after its caller has given up, and maxWrite how long it lasts at most, if the server is silent.
	commitTime = 5 * time.Second
	maxWrite   = time.Minute
	// idleSetting is the server's setting of how long a transaction may stand still. Then the server ends it: a process that was stopped, or whose
	// machine has lost its network, must not keep others from adding to the record.
	idleSetting = "idle_in_transaction_session_timeout"
	idleTime    = "10000" // milliseconds, unless the URL has another time
)

// Store is a store in a database.
type Store struct {
	*sqldb.DB
	backend *backend
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the database at a URL such as postgres://user@host/name, and adds missing tables. The driver takes what the URL
// leaves out from the variables and files of libpq, such as PGPASSWORD and ~/.pgpass. The tables are in the schema mcprun, or the first one of the
// parameter search_path. The error matches [store.ErrNewer] for tables of a later version. Neither errors nor Place hold the password.
func Open(ctx context.Context, url string) (*Store, error) {
	config, named, err := configure(url)
	if err != nil {
		return nil, fmt.Errorf("open the state: %w", err)
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	b := &backend{db: db, place: place(config), user: config.User, commitTime: commitTime}
	for range maxOpenings {
		if err = b.migrate(ctx, named); !isLost(err) {
			break
		}
		if _, unreachable := errors.AsType[*pgconn.ConnectError](err); unreachable {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the state in %s: %w", b.place, b.Error(err)), db.Close())
	}
	return &Store{sqldb.New(b), b}, nil
}

// configure returns the settings of connections, and whether the URL has named the schema.
func configure(url string) (config *pgx.ConnConfig, named bool, err error) {
	if config, err = pgx.ParseConfig(url); err != nil {
		return nil, false, errors.New("the address of the database is not of the form postgres://user@host:port/name") // the driver's error quotes it
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	if config.RuntimeParams[idleSetting] == "" {
		config.RuntimeParams[idleSetting] = idleTime
	}
	if named = config.RuntimeParams["search_path"] != ""; !named {
		config.RuntimeParams["search_path"] = schema
	}
	return config, named, nil
}

func place(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}

// migrate adds missing tables, and the schema unless the URL has named one. One process does so at a time.
func (b *backend) migrate(ctx context.Context, named bool) error {
	tables, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	session, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // seconds
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, b.db, tables, goose.WithLogger(goose.NopLogger()), goose.WithSessionLocker(session), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	var there sql.NullString
	var hasSchema bool // its creation needs a right, even if it is there
	var version sql.NullInt64
	if err := b.db.QueryRowContext(ctx, "SELECT to_regclass('goose_db_version')::text, to_regnamespace('"+schema+"') IS NOT NULL").Scan(&there, &hasSchema); err != nil {
		return err
	}
	if there.Valid {
		if err := b.db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&version); err != nil {
			return err
		}
	}
	if version.Int64 > newest {
		return store.ErrNewer
	}
	if version.Int64 == newest {
		return nil
	}
	if !named && !hasSchema {
		err := b.Write(ctx, true, func(q sqldb.Querier) error {
			_, err := q.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema)
			return err
		})
		if failure, ok := errors.AsType[*pgconn.PgError](err); ok && failure.Code == "42501" { // insufficient_privilege
			return fmt.Errorf("%w: let the owner of the database run CREATE SCHEMA %s AUTHORIZATION %s", err, schema, b.user)
		}
		if err != nil {
			return err
		}
	}
	_, err = provider.Up(ctx)
	return err
}

// Place implements [store.Store].
func (s *Store) Place() string { return s.backend.place }

// Close implements [store.Store].
func (s *Store) Close() error { return s.backend.db.Close() }

// isLost reports whether an error is of the connection, or of a server that stops or starts.
func isLost(err error) bool {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		// connection_exception; admin_shutdown, crash_shutdown, cannot_connect_now; idle_in_transaction_session_timeout
		return strings.HasPrefix(answer.Code, "08") || strings.HasPrefix(answer.Code, "57P0") || answer.Code == "25P03"
	}
	_, network := errors.AsType[net.Error](err)
	return network || pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// retry runs f again while the server cannot be reached.
func retry[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return backoff.Retry(ctx, func() (T, error) {
		v, err := f()
		if err != nil && (ctx.Err() != nil || !isLost(err)) {
			err = backoff.Permanent(err)
		}
		return v, err
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: 10 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: time.Second}), backoff.WithMaxElapsedTime(retryTime))
}

// backend implements [sqldb.Backend].
type backend struct {
	db         *sql.DB
	place      string
	user       string
	commitTime time.Duration
}

// Read implements [sqldb.Backend].
func (b *backend) Read() sqldb.Querier { return numbered{reader{b.db}} }

// Remembers implements [sqldb.Backend]. The size is small beside a commit, and the log of a server would name each insert that fails.
func (b *backend) Remembers() bool { return false }

// Bytes implements [sqldb.Backend].
func (b *backend) Bytes() string {
	return "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
}

// Now implements [sqldb.Backend].
func (b *backend) Now() string {
	return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
}

// Write implements [sqldb.Backend].
func (b *backend) Write(ctx context.Context, extends bool, f func(sqldb.Querier) error) error {
	_, err := retry(ctx, func() (struct{}, error) { return struct{}{}, b.write(ctx, extends, f) })
	return err
}

// write runs a transaction. The end of ctx does not break off the commit at once, because then nobody would know whether it happened.
func (b *backend) write(ctx context.Context, extends bool, f func(sqldb.Querier) error) error {
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	lasting, end := context.WithTimeout(context.WithoutCancel(ctx), maxWrite)
	defer end()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(b.commitTime, end) })
	defer stop()
	tx, err := conn.BeginTx(lasting, nil)
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
	if err := tx.Commit(); err != nil {
		return backoff.Permanent(err) // it may have happened
	}
	return nil
}

// Error implements [sqldb.Backend].
func (b *backend) Error(err error) error {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && failure.Code == "53100": // disk_full
		return fmt.Errorf("%w: %s answers: %s", store.ErrFull, b.place, failure.Message)
	case ok:
		return fmt.Errorf("%s answers: %w", b.place, err)
	}
	if refused, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fmt.Errorf("%s cannot be reached: %w", b.place, errors.Unwrap(refused))
	}
	return err
}

// reader runs queries again if the connection was lost.
type reader struct{ *sql.DB }

func (r reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return retry(ctx, func() (*sql.Rows, error) { return r.DB.QueryContext(ctx, query, args...) })
}

func (r reader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	var row *sql.Row // an error of retry is its own
	_, _ = retry(ctx, func() (struct{}, error) {
		row = r.DB.QueryRowContext(ctx, query, args...)
		return struct{}{}, row.Err()
	})
	return row
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
