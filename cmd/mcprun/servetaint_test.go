package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestServeTaint has clients leave data of a server in files, checkpoints and skills, for clients that come later.
func TestServeTaint(t *testing.T) {
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, text := range map[string]string{
		".mcp.json": `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}, "web": {"command": "deskmcp", "args": ["web.txt"]}}}`,
		"mcpgen.yaml": `version: 1
servers: {desk: {protocol: legacy, trusted: true}, web: {protocol: legacy, trusted: true}}
policy: {rules: [{name: no mixing, deny: "desk__*", when: "'web' in taint"}]}
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
	type step struct {
		tool string
		args object
		want string
	}
	read := step{"call_tool", object{"tool": "web__rows", "arguments": object{}}, "one"}
	sum := func(want string) step {
		return step{"call_tool", object{"tool": "desk__sum", "arguments": object{"a": 1, "b": 2}}, want}
	}
	script := func(code, want string) step {
		return step{"execute_code", object{"code": code, "language": "typescript"}, want}
	}
	allowed, add := sum(`"sum":3`), `import { sum } from "./servers/desk"; console.log(await sum({ a: 1, b: 2 }));`
	for _, c := range []struct {
		name  string
		steps []step
		gone  string // removed afterwards
	}{
		{"a script writes a file", []step{allowed, script(`import { rows } from "./servers/web"; require("fs").writeFileSync("rows.txt", JSON.stringify(await rows({})));`, ""), sum("no mixing")}, ""},
		{"a client reads it", []step{allowed, {"read_workspace_file", object{"filename": "rows.txt"}, "one"}, sum(`the file \"rows.txt\" of the workspace may hold data of web`)}, ""},
		{"a client runs a script beside it", []step{script(add, "no mixing"), sum("no mixing")}, ""},
		{"a client lists it", []step{{"list_workspace_files", object{}, "rows.txt"}, sum("no mixing")}, "rows.txt"},
		{"without it", []step{script(add, "sum: 3"), {"list_workspace_files", object{}, ""}, allowed}, ""},
		{"a client writes what it has", []step{read, {"write_workspace_file", object{"filename": "mine.txt", "content": "x"}, "wrote"}}, ""},
		{"another one reads it", []step{allowed, {"read_workspace_file", object{"filename": "mine.txt"}, "x"}, sum("mine.txt")}, "mine.txt"},
		{"a client saves a checkpoint", []step{read, {"checkpoint", object{"name": "c", "data": "x"}, "saved"}}, ""},
		{"another one loads it", []step{allowed, {"checkpoint", object{"name": "c"}, "x"}, sum("checkpoints/c.json")}, ""},
		{"another one lists it", []step{{"checkpoint", object{}, "c"}, sum("checkpoints/c.json")}, "checkpoints"},
		{"a client saves a skill", []step{read, {"save_skill", object{"name": "kept", "description": "d", "language": "typescript", "code": "export const kept = 1;"}, "kept"}}, ""},
		{"a script does not import it", []step{script(add, "sum: 3"), allowed}, ""},
		{"a script imports it", []step{script(`import { kept } from "./skills/kept"; kept; `+add, `the skill \"kept\" may hold data of web`), sum("no mixing")}, ""},
		{"another one loads it", []step{allowed, {"load_skill", object{"name": "kept"}, "kept"}, sum(`the skill \"kept\"`)}, ""},
		{"another one lists skills", []step{{"list_skills", object{}, "kept"}, sum("no mixing")}, ""},
	} {
		serve := exec.Command("mcprun", "serve", "--sandbox", "embedded", "--tools", "all")
		serve.Dir = dir
		session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range c.steps {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: step.tool, Arguments: step.args})
			if err != nil {
				t.Fatalf("%s: %s: %v", c.name, step.tool, err)
			}
			var text strings.Builder
			for _, block := range res.Content {
				if t, ok := block.(*mcp.TextContent); ok {
					text.WriteString(t.Text)
				}
			}
			if got := text.String(); !strings.Contains(got, step.want) && !strings.Contains(got, strings.ReplaceAll(step.want, `\"`, `"`)) {
				t.Errorf("%s: step %d, %s: %s; want %q", c.name, i+1, step.tool, got, step.want)
			}
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if c.gone != "" {
			if err := os.RemoveAll(filepath.Join(dir, "workspace", c.gone)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
