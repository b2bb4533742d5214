package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestServeFollowsProject checks that a running server uses the configuration, the policy and the tree as they are at each call.
func TestServeFollowsProject(t *testing.T) {
	dir, env, write := newProject(t)
	sync := func() {
		t.Helper()
		cmd := exec.Command(filepath.Join(programs, "mcpgen"), "sync")
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	const settings = "version: 1\nservers: {desk: {protocol: legacy, trusted: true}}\n"
	write(".mcp.json", `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}}}`)
	write("mcpgen.yaml", settings)
	sync()

	serve := exec.Command("mcprun", "serve", "--sandbox", "embedded", "--index-tokens", "500")
	serve.Dir, serve.Env, serve.Stderr = dir, env, t.Output()
	changed := make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
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
	note := func(tool string) string {
		t.Helper()
		return call("call_tool", map[string]any{"tool": tool, "arguments": map[string]any{"text": "x"}})
	}
	want := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	notes := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "notes.txt"))
		return strings.Count(string(text), "\n")
	}

	want(note("desk__note"), "noted")
	prompt, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "task", Arguments: map[string]string{"task": "Do the sum of 5 and 3"}})
	if err != nil {
		t.Fatal(err)
	}
	text := prompt.Messages[0].Content.(*mcp.TextContent).Text
	want(text, "run with execute_code")
	want(text, `import { sum } from "./servers/desk";`)
	write("mcpgen.yaml", settings+"policy: {rules: [{deny: desk__note, name: we said so}]}\n")
	want(note("desk__note"), "we said so")
	want(call("execute_code", map[string]any{"code": `import { note } from "./servers/desk"; await note({ text: "x" });`}), "we said so")

	// The commands of a level apply to the client's scripts.
	write("mcpgen.yaml", settings+"policy: {level: own, levels: {own: {extends: write_restricted, commands: {allow: [ls, git]}}}}\n")
	want(call("execute_code", map[string]any{"code": `import { execSync } from "child_process"; execSync("git; rm a");`}), `the argument "git;" has characters`)
	want(call("execute_code", map[string]any{"code": `import { execSync } from "child_process"; execSync("npm ls");`}), "only these are allowed: ls, git")

	// While a policy cannot be read, calls are refused; the previous policy does not decide.
	write("mcpgen.yaml", settings+"policy: {rules: [{deni: desk__note}]}\n")
	want(note("desk__sum"), "nothing was done: mcpgen.yaml:3:19: policy.rules")
	want(call("execute_code", map[string]any{"code": "console.log(1)"}), "nothing was done: mcpgen.yaml:3:19: policy.rules")
	write("mcpgen.yaml", settings)
	want(note("desk__note"), "noted")
	if n := notes(); n != 2 {
		t.Errorf("%d notes were made, want 2", n)
	}

	// The same applies to a limit that is withdrawn, and to a configuration that cannot be read.
	write("mcpgen.yaml", settings+"run: {timeout: 300ms}\n")
	want(call("execute_code", map[string]any{"code": "while (true) {}"}), "300ms")
	write("mcpgen.yaml", settings)
	want(call("get_execution_stats", nil), `"timeoutSeconds":30,`)
	write(".mcp.json", `{"mcpServers": {"desk": `)
	want(note("desk__note"), "nothing was done: .mcp.json:1")

	// After the sync, a new server is available everywhere, and the client is notified.
	for len(changed) > 0 {
		<-changed
	}
	write(".mcp.json", `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}, "bureau": {"command": "deskmcp", "args": ["notes.txt"]}}}`)
	want(note("desk__note"), "noted")
	sync()
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Error("the client was not told that the tools changed")
	}
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want(list.Tools[0].Description, "bureau")
	want(call("search_tools", map[string]any{"query": "note", "category": "bureau"}), "bureau__note")
	want(call("get_tool_definition", map[string]any{"tool_name": "bureau__note"}), "note(")
	want(note("bureau__note"), "noted")
	want(note("desk__note"), "noted")
	if n := running(t, dir, "deskmcp"); n > 2 {
		t.Errorf("%d servers run, want 2: those of the configuration before have not ended", n)
	}
	want(call("execute_code", map[string]any{"code": `import { note } from "./servers/bureau"; console.log(await note({ text: "x" }));`}), "noted")
}

// running returns how many processes of a program work in a folder, 0 where there is no /proc.
func running(t *testing.T, dir, program string) int {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, file := range all {
		text, _ := os.ReadFile(file)
		name, _, _ := strings.Cut(string(text), "\x00")
		at, err := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		if err == nil && at == dir && filepath.Base(name) == program {
			n++
		}
	}
	return n
}
