package hosts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/hosts"
)

func TestPlaces(t *testing.T) {
	linux := hosts.Person{OS: "linux", Home: "/home/me", Project: "/src/shop"}
	mac := hosts.Person{OS: "darwin", Home: "/Users/me", Project: "/src/shop"}
	windows := hosts.Person{OS: "windows", Home: `C:\Users\me`, Project: `D:\shop`}
	moved := hosts.Person{OS: "linux", Home: "/home/me", Project: "/src/shop", Env: func(name string) (string, bool) {
		v, ok := map[string]string{"XDG_CONFIG_HOME": "/cfg", "CLAUDE_CONFIG_DIR": "/claude", "CODEX_HOME": "/codex", "APPDATA": "unused"}[name]
		return v, ok
	}}
	roaming := windows
	roaming.Env = func(name string) (string, bool) { return `E:\Roaming`, name == "APPDATA" }
	nobody := hosts.Person{OS: "linux", Project: "/src/shop"}
	cases := []struct {
		person hosts.Person
		host   config.Host
		want   []string
	}{
		{linux, config.ClaudeCode, []string{"/src/shop/.mcp.json", "/home/me/.claude.json"}},
		{moved, config.ClaudeCode, []string{"/src/shop/.mcp.json", "/claude/.claude.json"}},
		{windows, config.ClaudeCode, []string{`D:\shop\.mcp.json`, `C:\Users\me\.claude.json`}},
		{linux, config.ClaudeDesktop, []string{"/home/me/.config/Claude/claude_desktop_config.json"}},
		{moved, config.ClaudeDesktop, []string{"/cfg/Claude/claude_desktop_config.json"}},
		{mac, config.ClaudeDesktop, []string{"/Users/me/Library/Application Support/Claude/claude_desktop_config.json"}},
		{windows, config.ClaudeDesktop, []string{`C:\Users\me\AppData\Roaming\Claude\claude_desktop_config.json`}},
		{roaming, config.ClaudeDesktop, []string{`E:\Roaming\Claude\claude_desktop_config.json`}},
		{linux, config.Cursor, []string{"/src/shop/.cursor/mcp.json", "/home/me/.cursor/mcp.json"}},
		{linux, config.VSCode, []string{"/src/shop/.vscode/mcp.json", "/home/me/.config/Code/User/mcp.json", "/home/me/.config/Code - Insiders/User/mcp.json", "/home/me/.copilot/mcp-config.json"}},
		{mac, config.VSCode, []string{"/src/shop/.vscode/mcp.json", "/Users/me/Library/Application Support/Code/User/mcp.json", "/Users/me/Library/Application Support/Code - Insiders/User/mcp.json", "/Users/me/.copilot/mcp-config.json"}},
		{windows, config.VSCode, []string{`D:\shop\.vscode\mcp.json`, `C:\Users\me\AppData\Roaming\Code\User\mcp.json`, `C:\Users\me\AppData\Roaming\Code - Insiders\User\mcp.json`, `C:\Users\me\.copilot\mcp-config.json`}},
		{mac, config.Windsurf, []string{"/Users/me/.codeium/windsurf/mcp_config.json"}},
		{linux, config.Codex, []string{"/src/shop/.codex/config.toml", "/home/me/.codex/config.toml"}},
		{moved, config.Codex, []string{"/src/shop/.codex/config.toml", "/codex/config.toml"}},
		{windows, config.Gemini, []string{`D:\shop\.gemini\settings.json`, `C:\Users\me\.gemini\settings.json`}},
		{linux, config.Zed, []string{"/src/shop/.zed/settings.json", "/home/me/.config/zed/settings.json"}},
		{mac, config.Zed, []string{"/src/shop/.zed/settings.json", "/Users/me/.config/zed/settings.json"}},
		{windows, config.Zed, []string{`D:\shop\.zed\settings.json`, `C:\Users\me\AppData\Roaming\zed\settings.json`}},
		{moved, config.OpenCode, []string{"/src/shop/opencode.json", "/src/shop/.opencode/opencode.json", "/src/shop/opencode.jsonc", "/src/shop/.opencode/opencode.jsonc", "/cfg/opencode/opencode.json", "/cfg/opencode/opencode.jsonc"}},
		{nobody, config.Codex, []string{"/src/shop/.codex/config.toml"}},
		{nobody, config.ClaudeDesktop, nil},
	}
	for _, c := range cases {
		var got []string
		for _, p := range c.person.Places(c.host) {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s on %s (-want +got):\n%s", c.host, c.person.OS, diff)
		}
	}
	for _, h := range config.Hosts() {
		if len(linux.Places(h)) == 0 {
			t.Errorf("no place of %s is known", h)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Join(dir, ".vscode", "mcp.json"), 0o755); err != nil { // a folder with that name
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := hosts.Person{OS: "linux", Project: dir}
	if got := p.Find(config.Cursor); len(got) != 1 || got[0].Path != file || got[0].Scope != hosts.InProject {
		t.Errorf("cursor: %v, want len(got) 1, Path %v and Scope %v", got, file, hosts.InProject)
	}
	if got := p.Find(config.VSCode); len(got) != 0 {
		t.Errorf("vscode: %v, want len(got) 0", got)
	}
}
