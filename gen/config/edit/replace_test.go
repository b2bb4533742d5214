package edit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Files that cannot be edited safely are refused, never damaged.
func TestReplaceServers(t *testing.T) {
	const table = "[mcp_servers.mcprun]\ncommand = 'mcprun'\nargs = ['serve']\n"
	for _, tt := range []struct {
		name, file, text string
		want             string // "" for an error
	}{
		{"on one line", ".mcp.json", `{"mcpServers":{"a":{"command":"x"}},"n":1.50}`, ""},
		{"a byte order mark", ".mcp.json", "\ufeff{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
			"\ufeff{\n  \"mcpServers\": {\n    \"mcprun\": {\n      \"command\": \"mcprun\",\n      \"args\": [\n        \"serve\"\n      ]\n    }\n  }\n}\n"},
		{"mcprun serve is there", ".mcp.json", `{"mcpServers": {"a": {"command": "x"}, "m": {"command": "mcprun", "args": ["serve"]}}}`,
			`{"mcpServers": { "m": {"command": "mcprun", "args": ["serve"]}}}`},
		{"the name is taken", ".mcp.json", `{"mcpServers": {"a": {"command": "x"}, "mcprun": {"command": "y"}}}`, ""},
		{"tables", "config.toml", "x = 1\n[mcp_servers.a]\ncommand = \"x\"\nargs = [\n  \"1\",\n]\n[mcp_servers.a.env]\nA = '''\n# no comment\n'''\n\n# b\n[b]\n", "x = 1\n# b\n[b]\n\n" + table},
		{"dotted keys", "config.toml", "mcp_servers.a.command = \"x\"\nmcp_servers.a.args = []\ny = 2\n", "y = 2\n\n" + table},
		{"keys of one table", "config.toml", "[mcp_servers]\na = {command = \"x\"}\nb = {command = \"y\", enabled = false}\n", "[mcp_servers]\nb = {command = \"y\", enabled = false}\n\n" + table},
		{"an inline table", "config.toml", "mcp_servers = {a = {command = \"x\"}}\n", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := config.ReadFile(filepath.Join(dir, tt.file), nil)
		if err != nil {
			t.Fatal(err)
		}
		edit, err := ReplaceServers(f, []string{"a"}, "mcprun", config.Launch{Command: "mcprun", Args: []string{"serve"}})
		var before, after []byte
		if err == nil {
			before, after = edit.Before, edit.After
		}
		if tt.name == "on one line" {
			if err != nil || !strings.HasSuffix(string(after), `},"n":1.50}`) || strings.Contains(string(after), `"x"`) {
				t.Errorf("%s: %v, %s, want %q at its end, no %q in it and no error", tt.name, err, after, `},"n":1.50}`, `"x"`)
			}
			continue
		}
		var bad *node.FileError
		if tt.want == "" && (!errors.As(err, &bad) || bad.Remedy == "") || tt.want != "" && (err != nil || string(after) != tt.want || string(before) != tt.text) {
			t.Errorf("%s: ReplaceServers() = %v\n%s\nwant\n%s", tt.name, err, after, tt.want)
		}
	}
}

func TestAddServer(t *testing.T) {
	const table = "[mcp_servers.mcprun]\ncommand = 'mcprun'\nargs = ['serve']\n"
	const entry = "\"mcprun\": {\n      \"command\": \"mcprun\",\n      \"args\": [\n        \"serve\"\n      ]\n    }"
	for _, tt := range []struct {
		name, file, text string
		want             string // "" for an error, "same" for no change
	}{
		{"other tables", "config.toml", "# mine\nx = 1\n", "# mine\nx = 1\n\n" + table},
		{"other servers", "config.toml", "[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n", "[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n\n" + table},
		{"an empty file", "config.toml", "", table},
		{"an inline table", "config.toml", "mcp_servers = {}\n", ""},
		{"no list", "settings.json", "{\n  \"theme\": 1 // t\n}\n", "{\n  \"theme\": 1, // t\n  \"mcpServers\": {\n    " + entry + "\n  }\n}\n"},
		{"an empty list", ".mcp.json", "{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {\n    " + entry + "\n  }\n}\n"},
		{"mcprun serve is there", ".mcp.json", `{"mcpServers": {"m": {"command": "mcprun", "args": ["serve"]}}}`, "same"},
		{"the name is taken", ".mcp.json", `{"mcpServers": {"mcprun": {"command": "y"}}}`, ""},
	} {
		path := filepath.Join(t.TempDir(), tt.file)
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		host := config.Gemini
		if tt.file == "config.toml" {
			host = config.Codex
		}
		f, err := config.ReadFile(path, &config.ReadOptions{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		edit, err := AddServer(f, "mcprun", config.Launch{Command: "mcprun", Args: []string{"serve"}})
		got := "same"
		if edit != nil {
			got = string(edit.After)
		}
		var bad *node.FileError
		if tt.want == "" && (!errors.As(err, &bad) || bad.Remedy == "") || tt.want != "" && (err != nil || got != tt.want) {
			t.Errorf("%s: AddServer() = %v\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
}
