package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestServePlugins checks that plugins judge what clients of mcprun serve do in every way: calls of the tree's tools, directly or by call_tool,
// and scripts. A change of a plugin counts from the next call on.
func TestServePlugins(t *testing.T) {
	dir, env, write := newProject(t)
	const denies = `case $(cat) in *'"hook":"run"'*forbidden*) echo '{"decision":"deny","reason":"rule 6"}' ;; *'"text":"no"'*) echo '{"decision":"deny","reason":"rule 7"}' ;; *'"run_end"'*secret*) echo '{"decision":"deny","reason":"rule 8"}' ;; *) echo '{"decision":"allow"}' ;; esac`
	write("rule.sh", denies)
	write(".mcp.json", `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}}}`)
	write("mcpgen.yaml", "version: 1\nservers: {desk: {protocol: legacy, trusted: true}}\nplugins: [{run: rule.sh, timeout: 2m}]\n")
	sync := exec.Command(filepath.Join(programs, "mcpgen"), "sync")
	sync.Dir, sync.Env = dir, env
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	connect := func(args ...string) func(tool string, args map[string]any) string {
		serve := exec.Command("mcprun", append([]string{"serve", "--sandbox", "embedded"}, args...)...)
		serve.Dir, serve.Env, serve.Stderr = dir, env, t.Output()
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cs.Close() })
		return func(tool string, args map[string]any) string {
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
	}
	want := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	call := connect()
	note := func(text string) string {
		return call("call_tool", map[string]any{"tool": "desk__note", "arguments": map[string]any{"text": text}})
	}
	want(note("no"), "plugin rule: refused: rule 7; nothing was sent")
	want(note("yes"), "noted")
	want(call("execute_code", map[string]any{"code": `import { note } from "./servers/desk"; await note({ text: "no" });`}), "plugin rule: refused: rule 7; nothing was sent")
	want(call("execute_code", map[string]any{"code": `console.log("forbidden")`}), "script.ts was not run: plugin rule: refused: rule 6")
	withheld := call("execute_code", map[string]any{"code": `console.log("printed"); export const result = "secret";`})
	want(withheld, "plugin rule: refused: rule 8; the script has run, and its result is withheld")
	if strings.Contains(withheld, "printed") || strings.Contains(withheld, "secret") {
		t.Errorf("the client got %q, want neither the output nor the result", withheld)
	}
	want(connect("--tools", "passthrough")("desk__note", map[string]any{"text": "no"}), "plugin rule: refused: rule 7; nothing was sent")

	write("rule.sh", "cat >/dev/null; echo '{\"decision\":\"deny\",\"reason\":\"rule 9\"}'")
	want(note("yes"), "plugin rule: refused: rule 9")
	text, err := os.ReadFile(filepath.Join(dir, "notes.txt"))
	if err != nil || string(text) != "yes\n" {
		t.Errorf("the notes are %q, %v, want one", text, err)
	}
}
