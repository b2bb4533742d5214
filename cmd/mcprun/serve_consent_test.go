package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/gen/config"
)

// TestServeConsent checks that a running server starts nothing that a person has not agreed to. What the person can do about it
// is in its log, but not in what a model reads.
func TestServeConsent(t *testing.T) {
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	env := append(os.Environ(), "MCPGEN_TRUST=", "HOME="+home, "LOCALAPPDATA="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "CI=1")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agree := func() {
		t.Helper()
		cfg, err := config.Load(filepath.Join(dir, ".mcp.json"))
		if err != nil {
			t.Fatal(err)
		}
		vars := map[string]string{"HOME": home, "LOCALAPPDATA": home}
		app := &cli.App{LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
		if err := (trust.Gate{App: app}).Agree(cfg); err != nil {
			t.Fatal(err)
		}
	}
	const servers = `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}}}`
	write(".mcp.json", servers)
	write("mcpgen.yaml", "version: 1\nservers: {desk: {protocol: legacy, trusted: true}}\npolicy: {rules: [{ask: desk__rows}]}\n")
	sync := exec.Command(filepath.Join(programs, "mcpgen"), "sync", "--trust-config")
	sync.Dir, sync.Env = dir, env
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	agree()

	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	serve := exec.Command("mcprun", "serve", "--sandbox", "embedded")
	serve.Dir, serve.Env, serve.Stderr = dir, env, log
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text := ""
		for _, c := range res.Content {
			if c, ok := c.(*mcp.TextContent); ok {
				text += c.Text
			}
		}
		return text
	}
	tool := func(name string, args map[string]any) string {
		return call("call_tool", map[string]any{"tool": name, "arguments": args})
	}
	logged := func(want string) {
		t.Helper()
		text, err := os.ReadFile(log.Name())
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the log is %q, %v; want %q in it", text, err, want)
		}
	}
	private := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) || strings.Contains(got, "--allow") || strings.Contains(got, "mcpgen trust") || strings.Contains(got, "MCPGEN_TRUST") {
			t.Errorf("the model reads %q, want %q and no way around", got, want)
		}
	}

	private(tool("desk__rows", map[string]any{}), "nobody can be asked here")
	private(call("execute_code", map[string]any{"code": `import { rows } from "./servers/desk"; await rows({});`}), "nobody can be asked here")
	logged("--allow desk__rows")

	write(".mcp.json", `{"mcpServers": {"desk": {"command": "sh", "args": ["-c", "touch started; exec deskmcp notes.txt"]}}}`)
	const needed = "the project's configuration changed and needs the consent of a person"
	private(tool("desk__sum", map[string]any{"a": 1, "b": 2}), needed)
	private(call("execute_code", map[string]any{"code": "console.log(1)"}), needed)
	logged("mcpgen trust")
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("a command was started that nobody has agreed to: got no error, want an error")
	}
	agree()
	if got := tool("desk__sum", map[string]any{"a": 1, "b": 2}); !strings.Contains(got, `"sum":3`) {
		t.Errorf("after the consent: %q, want the sum", got)
	}
	write("mcpgen.yaml", "version: 1\nservers: {desk: {protocol: legacy, trusted: true}}\n")
	private(tool("desk__rows", map[string]any{}), needed)
}
