// Package database is the demo server for a SQL database: a bicycle shop in
// SQLite with two years of orders. Reading and writing are different tools on
// different handles, so that a client can allow one without the other.
// Start at [New].
package database

import (
	"context"
	_ "embed"
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

// firstData are the tables of a bicycle shop and two years of its trade.
//
//go:embed shop.sql
var firstData string

// New returns the server for the database in dir, which is created and filled
// if it does not exist.
func New(ctx context.Context, dir string) (*tool.Server, error) {
	db, err := sqlitedb.Open(ctx, dir, "shop", firstData)
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

// startsWith returns an error unless sql is a single statement that begins with
// one of the keywords. The driver would run several statements.
func startsWith(sql string, keywords ...string) error {
	if i := strings.IndexByte(sql, ';'); i >= 0 && strings.TrimSpace(sql[i+1:]) != "" {
		return errors.New(`one statement at a time: put a text that holds ";" into params`)
	}
	for _, keyword := range keywords {
		if len(sql) >= len(keyword) && strings.EqualFold(sql[:len(keyword)], keyword) {
			return nil
		}
	}
	return fmt.Errorf("the statement must begin with one of %s", strings.Join(keywords, ", "))
}

func (s *shop) query(ctx context.Context, in queryInput) (queryOutput, error) {
	statement := strings.TrimSpace(in.SQL)
	if err := startsWith(statement, "SELECT", "WITH", "VALUES", "EXPLAIN"); err != nil {
		return queryOutput{}, fmt.Errorf("query only reads, execute changes: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	rows, err := s.db.Read.QueryContext(ctx, statement, bind(in.Params)...)
	if err != nil {
		return queryOutput{}, explain(ctx, err)
	}
	defer rows.Close()
	out := queryOutput{Rows: []map[string]tool.Scalar{}}
	if out.Columns, err = rows.Columns(); err != nil {
		return queryOutput{}, explain(ctx, err)
	}
	for i, name := range out.Columns {
		if slices.Contains(out.Columns[:i], name) {
			return queryOutput{}, fmt.Errorf("two columns are called %q; give each its own name with AS", name)
		}
	}
	size := 0
	for rows.Next() {
		if len(out.Rows) == in.MaxRows {
			out.Truncated = true
			break
		}
		row, err := sqlitedb.Row(rows)
		if err != nil {
			return queryOutput{}, explain(ctx, err)
		}
		for _, value := range row {
			size += 8
			switch v := value.(type) {
			case string:
				size += len(v)
			case []byte: // becomes base64 in JSON
				size += len(v)
			}
		}
		if size > resultLimit {
			return queryOutput{}, fmt.Errorf("the result is larger than %d bytes; select fewer columns or rows", resultLimit)
		}
		out.Rows = append(out.Rows, row)
	}
	out.RowCount = len(out.Rows)
	return out, explain(ctx, rows.Err())
}

func (s *shop) execute(ctx context.Context, in executeInput) (executeOutput, error) {
	statement := strings.TrimSpace(in.SQL)
	if err := startsWith(statement, "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CREATE", "ALTER", "DROP"); err != nil {
		return executeOutput{}, fmt.Errorf("execute changes, query reads: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	result, err := s.db.Write.ExecContext(ctx, statement, bind(in.Params)...)
	if err != nil {
		return executeOutput{}, explain(ctx, err)
	}
	var out executeOutput
	// SQLite keeps the counts of the last data statement; they say nothing
	// about one that created or dropped a table.
	if startsWith(statement, "CREATE", "ALTER", "DROP") == nil {
		return out, nil
	}
	if out.RowsAffected, err = result.RowsAffected(); err != nil {
		return executeOutput{}, err
	}
	if startsWith(statement, "INSERT", "REPLACE") == nil {
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

// explain turns an error of SQLite into one for the author of the statement.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the statement ran longer than %v and was stopped", timeLimit)
	}
	return fmt.Errorf("the database refused the statement: %w", err)
}
