package database

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tooltest"
)

func TestServer(t *testing.T) {
	srv, err := New(context.Background(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	sql := func(text string, params ...any) map[string]any {
		return map[string]any{"sql": text, "params": append([]any{}, params...)}
	}
	tooltest.Tour(t, srv, []tooltest.Call{
		{Tool: "list_tables", Want: `{"name":"orders","rows":4000,"type":"table"}`},
		{Tool: "list_tables", Args: map[string]any{"include_views": false}, Want: `"customers"`},
		{Tool: "describe_table", Args: map[string]any{"table": "ORDERS"}, Want: `"references_table":"customers"`},
		{Tool: "describe_table", Args: map[string]any{"table": "order_items"}, Want: `{"columns":["product_id"],"name":"items_by_product","unique":false}`},
		{Tool: "describe_table", Args: map[string]any{"table": "order_totals"}, Want: `"total_cents"`},
		{Tool: "describe_table", Args: map[string]any{"table": "nope"}, Fails: true, Want: "list_tables"},
		{Tool: "query", Args: sql("SELECT name, phone FROM customers WHERE id = ?", 1), Want: `"row_count":1`},
		{Tool: "query", Args: map[string]any{"sql": "SELECT id FROM orders ORDER BY id", "max_rows": 2}, Want: `"rows":[{"id":1},{"id":2}],"truncated":true`},
		{Tool: "query", Args: sql("SELECT x'ff' AS b, NULL AS n, 1.5 AS f, ? AS yes", true), Want: `"rows":[{"b":"/w==","f":1.5,"n":null,"yes":1}]`},
		{Tool: "query", Args: sql("SELECT 1 AS a, 2 AS a"), Fails: true, Want: "own name"},
		{Tool: "query", Args: sql("SELEC 1"), Fails: true, Want: "query only reads"},
		{Tool: "query", Args: sql("SELECT nope FROM orders"), Fails: true, Want: "no such column"},
		{Tool: "execute", Args: sql("SELECT 1"), Fails: true, Want: "query reads"},
		{Tool: "execute", Args: sql("INSERT INTO categories (name) VALUES (?)", "Trailers"), Want: `{"last_insert_id":9,"rows_affected":1}`},
		{Tool: "execute", Args: sql("UPDATE products SET stock = stock + 1 WHERE category_id = ?", 1), Want: `{"last_insert_id":null,"rows_affected":6}`},
		{Tool: "execute", Args: sql("INSERT INTO orders (customer_id, status, ordered_at) VALUES (99999, 'paid', '2026-01-01')"), Fails: true, Want: "FOREIGN KEY"},
		{Tool: "execute", Args: sql("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)"), Want: `"rows_affected":0`},
		{Tool: "execute", Args: sql("ALTER TABLE notes ADD COLUMN at TEXT"), Want: `"rows_affected":0`},
		{Tool: "execute", Args: sql("DROP TABLE notes"), Want: `"rows_affected":0`},
		{Tool: "query", Args: sql("SELECT name FROM categories WHERE id = 9"), Want: "Trailers"},
	})
}

// TestConfinement tries to write through query, and to leave the file.
func TestConfinement(t *testing.T) {
	dir := t.TempDir()
	srv, err := New(context.Background(), filepath.Join(dir, "db"))
	if err != nil {
		t.Fatal(err)
	}
	client := tooltest.Connect(t, srv)
	other := filepath.Join(dir, "other.sqlite")
	for tool, statements := range map[string][]string{
		"query": {
			"WITH x AS (SELECT 1) INSERT INTO categories (name) SELECT 'x' FROM x",
			"WITH x AS (SELECT 1) DELETE FROM orders",
			"SELECT 1; DELETE FROM orders",
			"PRAGMA query_only = 0",
			"ATTACH '" + other + "' AS o",
			"VACUUM INTO '" + other + "'",
			"SELECT load_extension('x')",
		},
		"execute": {
			"ATTACH '" + other + "' AS o",
			"VACUUM INTO '" + other + "'",
			"BEGIN",
			"PRAGMA journal_mode = DELETE",
			"CREATE TABLE a (b); DROP TABLE orders",
			"INSERT INTO categories (name) VALUES (load_extension('x'))",
		},
	} {
		for _, statement := range statements {
			if text, isError := tooltest.Do(t, client, tool, map[string]any{"sql": statement}); !isError {
				t.Errorf("%s ran %q: %s", tool, statement, text)
			}
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a file was created outside the database's folder: got no error, want an error")
	}
	if text, _ := tooltest.Do(t, client, "query", map[string]any{"sql": "SELECT COUNT(*) AS n FROM orders"}); !strings.Contains(text, `"n":4000`) {
		t.Errorf("orders were changed: %s, want %q in it", text, `"n":4000`)
	}
}
