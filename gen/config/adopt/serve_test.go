package adopt

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Other tools keep credentials in the hosts' files, on neighbouring lines or on the same one.
func TestDiffShowsNoOtherPartOfFiles(t *testing.T) {
	const project = `{"mcpServers": {"b": {"command": "old", "env": {"API_TOKEN": "SECRET-1"}}, "c": {"command": "x", "args": ["--token", "SECRET-2"]}}}`
	for _, tt := range []struct {
		file, text, want string
		host             config.Host
		config           []byte
		force            bool
	}{
		{file: ".claude.json", host: config.ClaudeCode, text: "{\n  \"oauthAccount\": {\"accessToken\": \"SECRET-1\"},\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\", \"env\": {\"ACCESS_TOKEN\": \"e\"}}, // SECRET-2\n    \"off\": {\"command\": \"y\", \"args\": [\"SECRET-3\"], \"disabled\": true}\n  }\n}\n",
			want: "--- FILE\n+++ FILE\n@@ mcpServers @@\n-\"a\": {\"command\":\"x\",\"env\":{\"ACCESS_TOKEN\":\"${ACCESS_TOKEN}\"}}\n+\"mcprun\": {\"command\":\"mcprun\",\"args\":[\"serve\"]}\n" +
				"--- /dev/null\n+++ mcpgen.json\n+\"a\": {\"command\":\"x\",\"env\":{\"ACCESS_TOKEN\":\"${ACCESS_TOKEN}\"}}\n"},
		{file: "opencode.json", host: config.OpenCode, text: `{"provider":{"p":{"options":{"apiKey":"SECRET-1"}}},"mcp":{"a":{"type":"local","command":["x"],"timeout":5000}}}`,
			want: "--- FILE\n+++ FILE\n@@ mcp @@\n-\"a\": {\"command\":\"x\"}\n+\"mcprun\": {\"type\":\"local\",\"command\":[\"mcprun\",\"serve\"]}\n" +
				"--- /dev/null\n+++ mcpgen.json\n+\"a\": {\"command\":\"x\"}\n--- /dev/null\n+++ mcpgen.yaml\n+a:\n+  startup_timeout: 5s\n"},
		{file: "config.toml", host: config.Codex, config: []byte(project), force: true, text: "[model_providers.x]\nexperimental_bearer_token = \"SECRET-3\"\n[mcp_servers.b]\ncommand = \"x\"\n",
			want: "--- FILE\n+++ FILE\n@@ mcp_servers @@\n-\"b\": {\"command\":\"x\"}\n+\"mcprun\": {\"command\":\"mcprun\",\"args\":[\"serve\"]}\n" +
				"--- mcpgen.json\n+++ mcpgen.json\n-\"b\": {\"command\":\"old\",\"env\":{\"API_TOKEN\":\"${API_TOKEN}\"}}\n+\"b\": {\"command\":\"x\"}\n"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, tt.file)
		write(t, path, []byte(tt.text))
		f, err := config.ReadFile(path, &config.ReadOptions{Host: tt.host, Project: dir})
		if err != nil {
			t.Fatal(err)
		}
		opts := Options{Dir: dir, Path: filepath.Join(dir, config.OwnName), Config: tt.config, Force: tt.force, Serve: &Serve{
			Reach:    func(*config.File) Reach { return Reach{Shared: true, Named: true} },
			Launch:   func(*config.File) config.Launch { return config.Launch{Command: "mcprun", Args: []string{"serve"}} },
			Unwanted: func(string) bool { return false },
		}}
		plan, err := Make([]*config.File{f}, opts)
		if err != nil {
			t.Fatal(err)
		}
		got := plan.Diff(opts, filepath.Join(dir, config.SettingsName), func(p string) string {
			if p == path {
				return "FILE"
			}
			return filepath.Base(p)
		})
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s: Diff() (-want +got):\n%s", tt.file, diff)
		}
	}
}
