package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

func (s *shop) listTables(ctx context.Context, in listTablesInput) (listTablesOutput, error) {
	out := listTablesOutput{Tables: []tableInfo{}}
	err := each(ctx, s.db.Read, func(row *sql.Rows) error {
		var t tableInfo
		if err := row.Scan(&t.Name, &t.Type); err != nil {
			return err
		}
		if t.Type == "table" || in.IncludeViews {
			out.Tables = append(out.Tables, t)
		}
		return nil
	}, "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
	if err != nil {
		return listTablesOutput{}, err
	}
	for i := range out.Tables {
		t := &out.Tables[i]
		if err := s.db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quote(t.Name)).Scan(&t.Rows); err != nil {
			return listTablesOutput{}, fmt.Errorf("count the rows of %q: %w", t.Name, err)
		}
	}
	return out, nil
}

func (s *shop) describe(ctx context.Context, in describeInput) (describeOutput, error) {
	out := describeOutput{Columns: []columnInfo{}, ForeignKeys: []foreignKey{}, Indexes: []indexInfo{}}
	err := s.db.Read.QueryRowContext(ctx,
		"SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", in.Table).
		Scan(&out.Table, &out.SQL)
	if errors.Is(err, sql.ErrNoRows) {
		return describeOutput{}, fmt.Errorf("there is no table %q; call list_tables for the names", in.Table)
	}
	if err != nil {
		return describeOutput{}, err
	}
	err = each(ctx, s.db.Read, func(row *sql.Rows) error {
		var c columnInfo
		var notNull bool
		if err := row.Scan(&c.Name, &c.Type, &notNull, &c.Default, &c.PrimaryKey); err != nil {
			return err
		}
		c.Nullable = !notNull && c.PrimaryKey == 0
		out.Columns = append(out.Columns, c)
		return nil
	}, `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?) ORDER BY cid`, out.Table)
	if err != nil {
		return describeOutput{}, err
	}
	err = each(ctx, s.db.Read, func(row *sql.Rows) error {
		var k foreignKey
		err := row.Scan(&k.Column, &k.ReferencesTable, &k.ReferencesColumn)
		out.ForeignKeys = append(out.ForeignKeys, k)
		return err
	}, `SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`, out.Table)
	if err != nil {
		return describeOutput{}, err
	}
	err = each(ctx, s.db.Read, func(row *sql.Rows) error {
		var index indexInfo
		var columns string
		err := row.Scan(&index.Name, &index.Unique, &columns)
		index.Columns = strings.Split(columns, "\x1f")
		out.Indexes = append(out.Indexes, index)
		return err
	}, `SELECT l.name, l."unique", (SELECT group_concat(name, char(31)) FROM (SELECT coalesce(name, '(expression)') AS name FROM pragma_index_info(l.name) ORDER BY seqno))
	    FROM pragma_index_list(?) AS l ORDER BY l.name`, out.Table)
	return out, err
}

// each calls f for every row of a query.
func each(ctx context.Context, db *sql.DB, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
