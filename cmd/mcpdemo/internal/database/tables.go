package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

func (s *shop) listTables(ctx context.Context, in listTablesInput) (listTablesOutput, error) {
	tables, err := read(ctx, s.db.Read, func(t *tableInfo) []any { return []any{&t.Name, &t.Type} },
		"SELECT name, type FROM sqlite_schema WHERE (type = 'table' OR type = 'view' AND ?) AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name", in.IncludeViews)
	if err != nil {
		return listTablesOutput{}, err
	}
	for i := range tables {
		t := &tables[i]
		if err := s.db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM "`+strings.ReplaceAll(t.Name, `"`, `""`)+`"`).Scan(&t.Rows); err != nil {
			return listTablesOutput{}, fmt.Errorf("count the rows of %q: %w", t.Name, err)
		}
	}
	return listTablesOutput{tables}, nil
}

func (s *shop) describe(ctx context.Context, in describeInput) (describeOutput, error) {
	var out describeOutput
	err := s.db.Read.QueryRowContext(ctx,
		"SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", in.Table).
		Scan(&out.Table, &out.SQL)
	if errors.Is(err, sql.ErrNoRows) {
		return describeOutput{}, fmt.Errorf("there is no table %q; call list_tables for the names", in.Table)
	}
	if err != nil {
		return describeOutput{}, err
	}
	if out.Columns, err = read(ctx, s.db.Read, func(c *columnInfo) []any {
		return []any{&c.Name, &c.Type, &c.Nullable, &c.Default, &c.PrimaryKey}
	}, `SELECT name, type, "notnull" = 0 AND pk = 0, dflt_value, pk FROM pragma_table_info(?) ORDER BY cid`, out.Table); err != nil {
		return describeOutput{}, err
	}
	if out.ForeignKeys, err = read(ctx, s.db.Read, func(k *foreignKey) []any {
		return []any{&k.Column, &k.ReferencesTable, &k.ReferencesColumn}
	}, `SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`, out.Table); err != nil {
		return describeOutput{}, err
	}
	if out.Indexes, err = read(ctx, s.db.Read, func(x *indexInfo) []any {
		return []any{&x.Name, &x.Unique}
	}, `SELECT name, "unique" FROM pragma_index_list(?) ORDER BY name`, out.Table); err != nil {
		return describeOutput{}, err
	}
	for i := range out.Indexes {
		x := &out.Indexes[i]
		if x.Columns, err = read(ctx, s.db.Read, func(name *string) []any { return []any{name} },
			`SELECT coalesce(name, '(expression)') FROM pragma_index_info(?) ORDER BY seqno`, x.Name); err != nil {
			return describeOutput{}, err
		}
	}
	return out, nil
}

// read returns a value for every row of a query; fields are the pointers that a
// row is scanned into.
func read[T any](ctx context.Context, db *sql.DB, fields func(*T) []any, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		var value T
		if err := rows.Scan(fields(&value)...); err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, rows.Err()
}
