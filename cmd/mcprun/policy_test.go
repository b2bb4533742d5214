package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestServePolicy tries to get around a policy through mcprun serve: by call_tool with each of a tool's names, by a script, by a
// skill that the model saves, and as another customer.
func TestServePolicy(t *testing.T) {
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, text := range map[string]string{
		".mcp.json": `{"mcpServers": {"Front-Desk": {"command": "deskmcp", "args": ["notes.txt"]}}}`,
		"mcpgen.yaml": `version: 1
servers: {Front-Desk: {protocol: legacy, trusted: true, alias: reception}}
policy:
  rules:
    - {name: no notes, deny: Front-Desk__note}
    - {name: bob adds nothing, deny: "*__sum", when: customer == 'bob'}
    - {name: rows ask, ask: "*__rows"}
  customers:
    ann: {level: read_only}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sync := exec.Command(filepath.Join(programs, "mcpgen"), "sync")
	sync.Dir = dir
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	type object = map[string]any
	script := func(code string) object { return object{"code": code, "language": "typescript"} }
	tool := func(name string, args object) object { return object{"tool": name, "arguments": args} }
	note := object{"text": "x"}
	for _, c := range []struct {
		customer, tool string
		args           object
		want           string
	}{
		{"", "call_tool", tool("reception__note", note), "no notes"},
		{"", "call_tool", tool("note", note), "no notes"},
		{"", "call_tool", tool("Front-Desk__note", note), ""},
		{"", "call_tool", tool("RECEPTION__NOTE", note), ""},
		{"", "call_tool", tool("reception__rows", object{}), "approval is needed, but nobody can be asked here"},
		{"", "call_tool", tool("reception__sum", object{"a": 1, "b": 2}), `"sum":3`},
		{"", "execute_code", script(`import { note } from "./servers/reception"; await note({ text: "x" });`), "no notes"},
		{"", "execute_code", script(`import { callMCPTool } from "mcprun"; await callMCPTool("reception__note", { text: "x" });`), "no notes"},
		{"", "save_skill", object{"name": "noted", "description": "d", "language": "typescript", "code": `import { note } from "./servers/reception"; export async function noted() { await note({ text: "x" }); }`}, "noted"},
		{"", "execute_code", script(`import { noted } from "./skills/noted"; await noted();`), "no notes"},
		{"ann", "call_tool", tool("reception__order", object{}), "level read_only"},
		{"ann", "call_tool", tool("reception__note", note), "no notes"},
		{"ann", "execute_code", script(`import { order } from "./servers/reception"; await order({});`), "level read_only"},
		{"ann", "call_tool", tool("reception__sum", object{"a": 1, "b": 2}), `"sum":3`},
		{"bob", "call_tool", tool("reception__sum", object{"a": 1, "b": 2}), "bob adds nothing"},
		{"bob", "execute_code", script(`import { sum } from "./servers/reception"; await sum({ a: 1, b: 2 });`), "bob adds nothing"},
	} {
		args := []string{"serve", "--sandbox", "embedded", "--tools", "all"}
		if c.customer != "" {
			args = append(args, "--customer", c.customer)
		}
		serve := exec.Command("mcprun", args...)
		serve.Dir = dir
		session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		var text strings.Builder
		if err != nil {
			text.WriteString(err.Error())
		} else {
			for _, block := range res.Content {
				if t, ok := block.(*mcp.TextContent); ok {
					text.WriteString(t.Text)
				}
			}
		}
		if got := text.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s %v for %q: %s; want %q", c.tool, c.args, c.customer, got, c.want)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	if made, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err == nil {
		t.Errorf("notes were made: %s: got no error, want an error", made)
	}
	// What was decided is kept, with the exit code that mcprun call returns.
	found := false
	for _, r := range loggedRecords(t, dir, nil, "ann") {
		for i := 0; r.Run != nil && i < len(r.Run.Calls); i++ {
			d := r.Run.Calls[i].Decision
			found = found || r.Run.Name == "call_tool" && r.Run.ExitCode == 126 && d != nil && d.Effect == "deny" && strings.Contains(d.Rule, "level read_only")
		}
	}
	if !found {
		t.Error("the sessions of ann do not have that her level was too low")
	}
	list := exec.Command("mcprun", "audit", "list", "--kind", "call", "--limit", "200")
	list.Dir = dir
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "no notes") {
		t.Errorf("the record has no \"no notes\": %v: %s", err, out)
	}
}
