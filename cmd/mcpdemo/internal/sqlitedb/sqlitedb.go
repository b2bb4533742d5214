// Package sqlitedb opens SQLite files for the demo servers: one handle that
// writes and one that cannot, both closed in by SQLite's authorizer so that a
// statement from outside never reaches another file. Start at [Open].
package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/seed"
)

// DB is one SQLite file.
type DB struct {
	// Read runs statements that change nothing: the file is opened read-only
	// and the authorizer allows reading alone.
	Read *sql.DB
	// Write runs everything but what leaves the file: ATTACH, VACUUM INTO,
	// PRAGMA and loading extensions are refused.
	Write *sql.DB
}

// Open opens dir/name.sqlite. If dir does not exist, it is created with a
// database that fill has filled inside one transaction. Any number of
// processes may do so at the same time.
func Open(ctx context.Context, dir, name string, fill func(ctx context.Context, tx *sql.Tx) error) (*DB, error) {
	err := seed.Dir(dir, func(tmp string) error {
		return create(ctx, filepath.Join(tmp, name+".sqlite"), fill)
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, name+".sqlite")
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("open the demo database: %w; delete its folder to start afresh", err)
	}
	write, err := open(file, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}, writeAuthorizer)
	if err != nil {
		return nil, err
	}
	// One writer at a time is all SQLite has; more would only wait on its lock.
	write.SetMaxOpenConns(1)
	read, err := open(file, url.Values{"mode": {"ro"}, "_query_only": {"1"}}, readAuthorizer)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(8)
	return &DB{Read: read, Write: write}, nil
}

// Close closes both handles.
func (db *DB) Close() error { return errors.Join(db.Read.Close(), db.Write.Close()) }

// maxValue bounds one text or blob, so that a few characters of SQL such as
// printf('%1000000000d', 1) cannot ask for a gigabyte.
const maxValue = 16 << 20

// Conn returns a connection of a handle for one statement from outside. The
// caller closes it.
func Conn(ctx context.Context, handle *sql.DB) (*sql.Conn, error) {
	conn, err := handle.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, maxValue); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// create makes the database of a new folder. WAL is a property of the file, so
// setting it here is enough for readers not to block the writer.
func create(ctx context.Context, file string, fill func(ctx context.Context, tx *sql.Tx) error) (err error) {
	db, err := open(file, url.Values{"mode": {"rwc"}, "_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)"}}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("create the demo database: %w", err)
	}
	if err := fill(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func open(file string, query url.Values, authorizer sqlite.AuthorizerFn) (*sql.DB, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	query["_pragma"] = append([]string{"busy_timeout(10000)", "foreign_keys(1)"}, query["_pragma"]...)
	query.Set("_defensive", "1")
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: query.Encode()}).String()
	base, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open the demo database: %w", err)
	}
	return sql.OpenDB(&guarded{base, authorizer}), nil
}

// guarded installs the authorizer on every connection of a pool.
type guarded struct {
	driver.Connector
	authorizer sqlite.AuthorizerFn
}

func (g *guarded) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := g.Connector.Connect(ctx)
	if err != nil || g.authorizer == nil {
		return conn, err
	}
	registerer, ok := conn.(sqlite.AuthorizerRegisterer)
	if !ok {
		return nil, errors.Join(errors.New("this SQLite driver has no authorizer"), conn.Close())
	}
	if err := registerer.RegisterAuthorizer(g.authorizer); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// readAuthorizer allows what a SELECT needs, and the pragmas that describe
// tables (also as functions, pragma_table_info and so on).
func readAuthorizer(action sqlite.AuthorizerActionCode, pragma, name, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthPragma:
		switch pragma {
		case "table_info", "foreign_key_list", "index_list", "index_info":
			return sqlite.AuthorizerOK
		}
	case sqlite.AuthFunction:
		return allowFunction(name)
	}
	return sqlite.AuthorizerDeny
}

// writeAuthorizer refuses what reaches beyond the file or outlives a call.
func writeAuthorizer(action sqlite.AuthorizerActionCode, _, name, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthAttach, sqlite.AuthDetach, sqlite.AuthPragma,
		sqlite.AuthCreateVTable, sqlite.AuthDropVTable:
		return sqlite.AuthorizerDeny
	case sqlite.AuthFunction:
		return allowFunction(name)
	}
	return sqlite.AuthorizerOK
}

func allowFunction(name string) sqlite.AuthorizerReturnCode {
	switch name {
	case "load_extension", "fts3_tokenizer": // they run or hand out native code
		return sqlite.AuthorizerDeny
	}
	return sqlite.AuthorizerOK
}
