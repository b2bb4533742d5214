package task_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/task"
)

// tool is the definition of a tool.
func tool(name, description, schema string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s}`, name, description, schema))
}

// schemaOf is that of an object with required texts or, with a colon, other types.
func schemaOf(fields ...string) string {
	properties, required := map[string]any{}, []string{}
	for _, f := range fields {
		name, typ, ok := strings.Cut(f, ":")
		if !ok {
			typ = "string"
		}
		properties[name] = map[string]string{"type": typ}
		required = append(required, name)
	}
	b, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	return string(b)
}

// four are the servers of the acceptance examples: 11 tools.
func four() map[string][]json.RawMessage {
	return map[string][]json.RawMessage{
		"calculator": {
			tool("add", "Add two numbers", schemaOf("a:number", "b:number")), tool("multiply", "Multiply two numbers", schemaOf("a:number", "b:number")),
			tool("calculate", "Evaluate a mathematical expression", schemaOf("expression")),
		},
		"weather": {
			tool("get_current_weather", "Get current weather for a city", schemaOf("city")), tool("get_forecast", "Get the weather forecast for a city", schemaOf("city", "days:integer")),
		},
		"filesystem": {
			tool("read_file", "Read a file", schemaOf("path")), tool("write_file", "Write a file", schemaOf("path", "content")), tool("list_directory", "List the content of a directory", schemaOf("path")),
		},
		"database": {
			tool("query", "Run a SQL query", schemaOf("sql")), tool("insert", "Insert a row into a table", schemaOf("table", "row:object")), tool("list_tables", "List all tables", schemaOf()),
		},
	}
}

// treeOf makes the tree of servers in a new folder, and its index.
func treeOf(t testing.TB, servers map[string][]json.RawMessage, opt *search.Options) *task.Tree {
	t.Helper()
	dir := t.TempDir()
	commands := map[string]any{}
	for name := range servers {
		commands[name] = map[string]string{"command": "none"}
	}
	b, err := json.Marshal(map[string]any{"mcpServers": commands})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	lister := func(_ context.Context, s config.Server) (*gen.Listing, error) {
		return &gen.Listing{Tools: servers[s.Key]}, nil
	}
	if _, err := gen.Sync(t.Context(), gen.Options{Dir: dir, Lister: lister}); err != nil {
		t.Fatal(err)
	}
	tree, err := gen.Open(gen.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return &task.Tree{Tree: tree, Index: tree.Index(opt)}
}

// functions are the names of the selected tools, by server.
func functions(s *task.Selection) map[string][]string {
	out := map[string][]string{}
	for _, tool := range s.Tools {
		_, name, _ := strings.Cut(tool.ID, "__")
		out[tool.Server] = append(out[tool.Server], name)
	}
	return out
}
