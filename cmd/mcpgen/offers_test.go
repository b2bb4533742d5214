package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
)

// TestOffersAreShown checks that list and show have the prompts and resources of a server, whose texts are foreign.
func TestOffersAreShown(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"my-docs":{"command":"none"},"plain":{"command":"none"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := gen.Sync(t.Context(), gen.Options{Dir: dir, Lister: func(_ context.Context, s config.Server) (*gen.Listing, error) {
		l := &gen.Listing{Tools: []json.RawMessage{json.RawMessage(`{"name":"find","inputSchema":{"type":"object"}}`)}}
		if s.Key == "my-docs" {
			l.Resources, l.HasPrompts = true, true
			l.Prompts = []json.RawMessage{json.RawMessage(`{"name":"greet\u001b[2J","description":"Say hello\u001b]0;x","arguments":[{"name":"who","required":true},{"name":"how"}]}`)}
		}
		return l, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		app := &cli.App{Name: "mcpgen", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: dir}
		code := app.Run(t.Context(), newRootCmd(app), args)
		return out.String() + errs.String(), code
	}
	for _, c := range []struct {
		args  string
		wants []string
		code  int
	}{
		{"list", []string{"my_docs__find", "  resources ", `  prompt greet\x1b[2J(who, how?)  Say hello\x1b]0;x`, "plain__find"}, 0},
		{"list my-docs --json", []string{`"resources": true`, `"prompts": [`, `"name": "who",`, `"required": true`}, 0},
		{"show my-docs/prompts", []string{"servers/my_docs/prompts.ts", "who: string", "serverPrompts<Prompts>", "servers/my_docs/prompts.py"}, 0},
		{"show my_docs/resources --language python", []string{"servers/my_docs/resources.py"}, 0},
		{"show my_docs/prompts --json", []string{`"offer": "prompts"`, `"server": "my-docs"`, `"file": "my_docs/prompts.ts"`}, 0},
		{"show plain/prompts", []string{`no tool "plain/prompts" in the tree`}, 2},
		{"show plain/resources", []string{`no tool "plain/resources"`}, 2},
	} {
		out, code := run(strings.Fields(c.args)...)
		if code != c.code || strings.Contains(out, "\x1b") {
			t.Errorf("%s: code %d, want %d and no %q in it\n%q", c.args, code, c.code, "\x1b", out)
		}
		for _, want := range c.wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", c.args, want, out)
			}
		}
	}
	if out, _ := run("list", "plain"); strings.Contains(out, "resources") || strings.Contains(out, "prompt") {
		t.Errorf("a server with tools alone, want no \"resources\" in it and no \"prompt\" in it:\n%s", out)
	}
	if out, _ := run("show", "my_docs/resources", "--language", "python"); strings.Contains(out, ".ts") {
		t.Errorf("in one language, want no \".ts\" in it:\n%s", out)
	}
}
