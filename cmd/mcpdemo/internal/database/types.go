package database

import (
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/sqlitedb"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

type listTablesInput struct {
	IncludeViews bool `json:"include_views,omitempty" default:"true" jsonschema:"Also list views."`
}

type tableInfo struct {
	Name string `json:"name" jsonschema:"The table's name."`
	Type string `json:"type" enum:"table,view" jsonschema:"Whether it holds rows itself or shows those of others."`
	Rows int64  `json:"rows" min:"0" jsonschema:"How many rows it has."`
}

type listTablesOutput struct {
	Tables []tableInfo `json:"tables" jsonschema:"Tables and views, sorted by name."`
}

type describeInput struct {
	Table string `json:"table" minlen:"1" maxlen:"128" example:"orders" jsonschema:"The name of a table or view, as list_tables gives it."`
}

type columnInfo struct {
	Name       string  `json:"name" jsonschema:"The column's name."`
	Type       string  `json:"type" jsonschema:"The declared SQL type, for example INTEGER; empty for computed columns of views."`
	Nullable   bool    `json:"nullable" jsonschema:"Whether the column can be NULL."`
	Default    *string `json:"default" jsonschema:"The default as an SQL expression, or null."`
	PrimaryKey int     `json:"primary_key" min:"0" jsonschema:"The column's position in the primary key, from 1; 0 if it is not part of it."`
}

type foreignKey struct {
	Column           string  `json:"column" jsonschema:"The column of this table."`
	ReferencesTable  string  `json:"references_table" jsonschema:"The table it points to."`
	ReferencesColumn *string `json:"references_column" jsonschema:"The column it points to, or null for that table's primary key."`
}

type indexInfo struct {
	Name    string   `json:"name" jsonschema:"The index's name."`
	Unique  bool     `json:"unique" jsonschema:"Whether it forbids duplicates."`
	Columns []string `json:"columns" jsonschema:"The indexed columns, in order."`
}

type describeOutput struct {
	Table       string       `json:"table" jsonschema:"The table's name."`
	SQL         string       `json:"sql" jsonschema:"The statement that created it, with its checks."`
	Columns     []columnInfo `json:"columns" jsonschema:"The columns, in order."`
	ForeignKeys []foreignKey `json:"foreign_keys" jsonschema:"References to other tables."`
	Indexes     []indexInfo  `json:"indexes" jsonschema:"The indexes."`
}

type queryInput struct {
	SQL     string        `json:"sql" minlen:"1" maxlen:"20000" example:"SELECT status, COUNT(*) AS n FROM orders GROUP BY status" jsonschema:"One SELECT, WITH … SELECT, VALUES or EXPLAIN statement in SQLite's dialect. Put values into params, never into the text."`
	Params  []tool.Scalar `json:"params,omitempty" maxitems:"100" jsonschema:"Values for the placeholders ?, in order. Booleans become 1 and 0."`
	MaxRows int           `json:"max_rows,omitempty" default:"100" min:"1" max:"10000" jsonschema:"Return at most this many rows; truncated says that there were more."`
}

type queryOutput struct {
	Columns   []string                 `json:"columns" jsonschema:"The column names, in the order of the statement."`
	Rows      []map[string]tool.Scalar `json:"rows" jsonschema:"The rows, each an object with the columns as keys. Binary values are base64."`
	RowCount  int                      `json:"row_count" min:"0" jsonschema:"How many rows are returned."`
	Truncated bool                     `json:"truncated" jsonschema:"True when there were more rows than max_rows."`
}

type executeInput struct {
	SQL    string        `json:"sql" minlen:"1" maxlen:"20000" example:"UPDATE orders SET status = ? WHERE id = ?" jsonschema:"One INSERT, UPDATE, DELETE, REPLACE, CREATE, ALTER or DROP statement in SQLite's dialect. Put values into params, never into the text."`
	Params []tool.Scalar `json:"params,omitempty" maxitems:"100" jsonschema:"Values for the placeholders ?, in order. Booleans become 1 and 0."`
}

type executeOutput struct {
	RowsAffected int64  `json:"rows_affected" min:"0" jsonschema:"How many rows were inserted, changed or deleted; 0 for statements about tables."`
	LastInsertID *int64 `json:"last_insert_id" jsonschema:"The row id of the last inserted row, or null when the statement was no INSERT."`
}

type shop struct{ db *sqlitedb.DB }
