// Package database is the demo server for a SQL database: a bicycle shop in
// SQLite with two years of orders. Reading and writing are different tools on
// different handles, so that a client can allow one without the other; what
// each may do is enforced by SQLite itself (see package sqlitedb). Start at
// [New].
package database

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/sqlitedb"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

const (
	// timeLimit ends a statement that runs away.
	timeLimit = 15 * time.Second
	// resultLimit bounds the text and bytes of one result.
	resultLimit = 8 << 20
)

// New returns the server for the database in dir, which is created and filled
// if it does not exist.
func New(ctx context.Context, dir string) (*tool.Server, error) {
	db, err := sqlitedb.Open(ctx, dir, "shop", fill)
	if err != nil {
		return nil, err
	}
	s := tool.NewServer("mcpdemo-database", "Shop database",
		"A bicycle shop's SQLite database: categories, products, customers, orders, order_items and the view order_totals. Amounts are in euro cents, times in UTC as RFC 3339 text. Look at describe_table before writing SQL; use query to read and execute to change.")
	s.OnClose(db.Close)
	shop := &shop{db}
	tool.Add(s, tool.Spec{Name: "list_tables", Title: "List tables", Effect: tool.Reads,
		Description: "List the tables and views of the database with their number of rows. Start here."}, shop.listTables)
	tool.Add(s, tool.Spec{Name: "describe_table", Title: "Describe table", Effect: tool.Reads,
		Description: "Get a table's columns with types, nullability, defaults and primary key, its foreign keys, its indexes, and the SQL that created it."}, shop.describe)
	tool.Add(s, tool.Spec{Name: "query", Title: "Query", Effect: tool.Reads,
		Description: "Run one reading SQL statement and get its rows as objects. The connection is read-only: statements that change anything fail. " +
			"At most max_rows rows (default 100), 8 MiB and 15 seconds; aggregate in SQL rather than fetching everything. Every column needs a name of its own, so use AS."}, shop.query)
	tool.Add(s, tool.Spec{Name: "execute", Title: "Execute", Effect: tool.Modifies,
		Description: "Run one SQL statement that changes data or tables, as its own transaction: either all of it takes effect or nothing. Returns the number of affected rows. " +
			"Transactions over several calls, ATTACH, PRAGMA and VACUUM are not available."}, shop.execute)
	return s, nil
}

type shop struct{ db *sqlitedb.DB }

func (s *shop) query(ctx context.Context, in queryInput) (queryOutput, error) {
	word, err := firstWord(in.SQL)
	if err != nil {
		return queryOutput{}, err
	}
	if !slices.Contains([]string{"SELECT", "WITH", "VALUES", "EXPLAIN"}, word) {
		return queryOutput{}, fmt.Errorf("query only reads and takes SELECT, WITH, VALUES or EXPLAIN, not %.20q; use execute to change something", word)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	conn, err := sqlitedb.Conn(ctx, s.db.Read)
	if err != nil {
		return queryOutput{}, explain(ctx, err)
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, in.SQL, bind(in.Params)...)
	if err != nil {
		return queryOutput{}, explain(ctx, err)
	}
	defer rows.Close()
	out := queryOutput{Rows: []map[string]tool.Scalar{}}
	if out.Columns, err = rows.Columns(); err != nil {
		return queryOutput{}, explain(ctx, err)
	}
	if err := distinct(out.Columns); err != nil {
		return queryOutput{}, err
	}
	size := 0
	for rows.Next() {
		if len(out.Rows) == in.MaxRows {
			out.Truncated = true
			break
		}
		row, n, err := scan(rows, out.Columns)
		if err != nil {
			return queryOutput{}, explain(ctx, err)
		}
		if size += n; size > resultLimit {
			return queryOutput{}, fmt.Errorf("the result is larger than %d bytes; select fewer columns or rows", resultLimit)
		}
		out.Rows = append(out.Rows, row)
	}
	out.RowCount = len(out.Rows)
	return out, explain(ctx, rows.Err())
}

// distinct refuses a result whose rows could not be objects.
func distinct(columns []string) error {
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			return fmt.Errorf("two columns are called %q; give each its own name with AS", name)
		}
	}
	return nil
}

// scan reads the current row and estimates its size.
func scan(rows *sql.Rows, columns []string) (map[string]tool.Scalar, int, error) {
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	if err := rows.Scan(values...); err != nil {
		return nil, 0, err
	}
	row, size := make(map[string]tool.Scalar, len(columns)), 0
	for i, name := range columns {
		size += len(name) + 8
		switch v := (*values[i].(*any)).(type) {
		case string:
			row[name] = v
			size += len(v)
		case []byte:
			row[name] = base64.StdEncoding.EncodeToString(v)
			size += len(v) * 4 / 3
		case time.Time:
			row[name] = v.UTC().Format(time.RFC3339)
		case float64:
			if math.IsInf(v, 0) {
				return nil, 0, fmt.Errorf("column %q holds an infinite number, which JSON cannot carry", name)
			}
			row[name] = v
		default:
			row[name] = v
		}
	}
	return row, size, nil
}

func (s *shop) execute(ctx context.Context, in executeInput) (executeOutput, error) {
	word, err := firstWord(in.SQL)
	if err != nil {
		return executeOutput{}, err
	}
	if !slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CREATE", "ALTER", "DROP"}, word) {
		return executeOutput{}, fmt.Errorf("execute takes INSERT, UPDATE, DELETE, REPLACE, CREATE, ALTER or DROP, not %.20q; use query to read", word)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	conn, err := sqlitedb.Conn(ctx, s.db.Write)
	if err != nil {
		return executeOutput{}, explain(ctx, err)
	}
	defer conn.Close()
	result, err := conn.ExecContext(ctx, in.SQL, bind(in.Params)...)
	if err != nil {
		return executeOutput{}, explain(ctx, err)
	}
	var out executeOutput
	// SQLite keeps the counts of the last data statement; they say nothing
	// about one that made or dropped a table.
	if word == "CREATE" || word == "ALTER" || word == "DROP" {
		return out, nil
	}
	if out.RowsAffected, err = result.RowsAffected(); err != nil {
		return executeOutput{}, err
	}
	if word == "INSERT" || word == "REPLACE" {
		id, err := result.LastInsertId()
		if err != nil {
			return executeOutput{}, err
		}
		out.LastInsertID = &id
	}
	return out, nil
}

// bind turns JSON values into parameters; whole numbers become integers, since
// JSON does not tell 5 from 5.0 but SQLite's LIKE and type checks do.
func bind(params []tool.Scalar) []any {
	args := make([]any, len(params))
	for i, p := range params {
		args[i] = p
		if n, ok := p.(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			args[i] = int64(n)
		}
	}
	return args
}

// explain words an error of SQLite for whoever wrote the statement.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the statement ran longer than %v and was stopped", timeLimit)
	case strings.Contains(err.Error(), "not authorized"):
		return fmt.Errorf("this tool may not run that statement: query only reads, execute changes only this database: %w", err)
	}
	return fmt.Errorf("the database refused the statement: %w", err)
}
