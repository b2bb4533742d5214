package database

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/sqlitedb"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tooltest"
)

func TestFirstWord(t *testing.T) {
	for text, want := range map[string]string{
		"select 1":                               "SELECT",
		" -- c;\n/* ; */ Select 1;":              "SELECT",
		"SELECT ';' -- ;\n ;; ":                  "SELECT",
		"select 1; -- end":                       "SELECT",
		"select [a;b], \"c;d\", `e;f`, 'it''s;'": "SELECT",
		"values(1)":                              "VALUES",
		"":                                       "error",
		" -- only":                               "error",
		"select 1; select 2":                     "error",
		"select 1;/* */ drop table x":            "error",
		"select ''; drop table x":                "error",
		"select 'a'''; drop table x":             "error",
	} {
		got, err := firstWord(text)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

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
		{Tool: "query", Args: sql("SELECT 9e999 AS x"), Fails: true, Want: "infinite"},
		{Tool: "execute", Args: sql("SELECT 1"), Fails: true, Want: "use query"},
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
			"EXPLAIN DELETE FROM orders",
			"SELECT 1; DELETE FROM orders",
			"PRAGMA query_only = 0",
			"ATTACH '" + other + "' AS o",
			"VACUUM INTO '" + other + "'",
			"SELECT load_extension('x')",
			"SELECT zeroblob(1000000000) AS b",
			"SELECT length(printf('%1000000000d', 1)) AS n",
			"SELECT * FROM pragma_database_list",
		},
		"execute": {
			"ATTACH '" + other + "' AS o",
			"VACUUM INTO '" + other + "'",
			"BEGIN",
			"PRAGMA journal_mode = DELETE",
			"CREATE TABLE a (b); DROP TABLE orders",
			"CREATE VIRTUAL TABLE v USING fts5(x)",
			"INSERT INTO categories (name) VALUES (load_extension('x'))",
			"WITH x AS (SELECT 1) SELECT zeroblob(1000000000) FROM x",
		},
	} {
		for _, statement := range statements {
			if text, isError := tooltest.Do(t, client, tool, map[string]any{"sql": statement}); !isError {
				t.Errorf("%s ran %q: %s", tool, statement, text)
			}
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a file was created outside the database's folder")
	}
	if text, _ := tooltest.Do(t, client, "query", map[string]any{"sql": "SELECT COUNT(*) AS n FROM orders"}); !strings.Contains(text, `"n":4000`) {
		t.Errorf("orders were changed: %s", text)
	}
}

// TestSeedIsDeterministic compares two databases made by racing openers.
func TestSeedIsDeterministic(t *testing.T) {
	totals := func(dir string) (total int64) {
		db, err := sqlitedb.Open(context.Background(), dir, "shop", fill)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer db.Close()
		if err := db.Read.QueryRow("SELECT SUM(total_cents * (order_id % 97)) FROM order_totals").Scan(&total); err != nil {
			t.Error(err)
		}
		return total
	}
	parent := t.TempDir()
	var results [4]int64
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = totals(filepath.Join(parent, []string{"a", "b"}[i%2])) })
	}
	wg.Wait()
	for _, r := range results {
		if r == 0 || r != results[0] {
			t.Fatalf("totals differ: %v", results)
		}
	}
}
