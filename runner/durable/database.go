package durable

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // and registers modernc.org/sqlite
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// format is the version of what the engine keeps. Only engines of the same format continue each other's work; see the package comment.
	format = "mcprun-1"
	// schema is that of the library's tables in Postgres. If the address names one for the state, it is that name, followed by _durable.
	schema = "durable"
	// startup limits the time to connect and to make the tables.
	startup = 30 * time.Second
)

// connect returns the library's context, which owns a pool of connections. It is not launched yet.
func connect(ctx context.Context, o *Options, executor string) (dbos.Context, error) {
	config := dbos.Config{
		AppName:                "mcprun",
		ApplicationVersion:     version(o),
		ExecutorID:             executor,
		DatabaseSchema:         schema,
		Logger:                 slog.New(quieter{o.Logger.Handler()}),
		SystemDBStartupTimeout: startup,
		// How often it looks for notifications that it owes others; readers of events do not depend on them.
		NotificationCoalesceInterval: 100 * time.Millisecond,
	}
	var closePool func()
	if strings.HasPrefix(o.State, "postgres://") || strings.HasPrefix(o.State, "postgresql://") {
		pool, err := openPostgres(ctx, o.State)
		if err != nil {
			return nil, err
		}
		config.SystemDBPool, closePool = pool, pool.Close
		config.DatabaseSchema = schemaBeside(pool.Config().ConnConfig.RuntimeParams["search_path"])
	} else {
		db, err := openSQLite(o)
		if err != nil {
			return nil, err
		}
		config.SQLiteSystemDB, closePool = db, func() { db.Close() }
	}
	// The library takes the end of its context for a cancellation of all work.
	root, err := dbos.NewContext(context.WithoutCancel(ctx), config)
	if err != nil {
		closePool()
		return nil, explain("opening the state of durable work", err)
	}
	if root.GetExecutorID() != executor || root.GetApplicationVersion() != version(o) {
		dbos.Shutdown(root, time.Second)
		return nil, fmt.Errorf("the variables DBOS__VMID and DBOS__APPVERSION change who continues work: unset them")
	}
	return root, nil
}

// version is that of the library's application, which keeps groups apart in queues.
func version(o *Options) string { return strings.TrimSuffix(format+"-"+o.Group, "-") }

// ofVersion returns the group of a version, if it is one of this format.
func ofVersion(version string) (group string, ok bool) {
	rest, ok := strings.CutPrefix(version+"-", format+"-")
	return strings.TrimSuffix(rest, "-"), ok
}

// openSQLite opens the file with few connections: SQLite has one writer. An intent must outlive a loss of power, hence synchronous(FULL).
func openSQLite(o *Options) (*sql.DB, error) {
	if _, err := os.Stat(o.State); err != nil { // the store makes it, for its owner alone
		return nil, err
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"}}
	if o.maxPages > 0 {
		query["_pragma"] = append(query["_pragma"], fmt.Sprintf("max_page_count(%d)", o.maxPages))
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: o.State, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", o.State, err)
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(2)
	return db, nil
}

func openPostgres(ctx context.Context, state string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(state)
	if err != nil {
		// The driver's error quotes it, with the password.
		return nil, errors.New("the address of the database is not of the form postgres://user@host:port/name")
	}
	config.MaxConns = 8
	config.MaxConnIdleTime = 5 * time.Minute
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, 10*time.Second)
	// A process that was stopped must not hold locks for others.
	const idle = "idle_in_transaction_session_timeout"
	config.ConnConfig.RuntimeParams[idle] = cmp.Or(config.ConnConfig.RuntimeParams[idle], "60s")
	config.ConnConfig.RuntimeParams["application_name"] = "mcprun"
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return breakable{conn}, nil
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// schemaBeside returns the schema for durable work of a state whose tables are in the first schema of a search_path. Two projects in one
// database would do each other's work in one schema.
func schemaBeside(path string) string {
	first, _, _ := strings.Cut(path, ",")
	if first = strings.Trim(first, ` "`); first == "" {
		return schema
	}
	return first + "_" + schema
}

// breakable is a connection whose end is an error of the network. The library repeats what fails with one, for as long as it takes; the
// unexpected end of a stream it takes for an error of the work.
type breakable struct{ net.Conn }

func (b breakable) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if err == io.EOF {
		err = &net.OpError{Op: "read", Net: b.RemoteAddr().Network(), Addr: b.RemoteAddr(), Err: io.ErrUnexpectedEOF}
	}
	return n, err
}

// quieter is a handler of the library's messages: they are one level lower here, where they are details.
type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, level-4)
}

func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level -= 4
	return q.Handler.Handle(ctx, r)
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}
func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }
