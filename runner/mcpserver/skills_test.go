package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

var greeting = map[string]string{"greet/SKILL.md": "---\nname: greet\ndescription: Greets.\n---\nhi\n"}

// TestSkillsExtension checks that skills are listed with digests, and that their files are resources.
func TestSkillsExtension(t *testing.T) {
	for _, revision := range revisions {
		w := newFixture(t)
		w.withSkills(greeting)
		cs := w.stdio(w.server(), revision, nil)
		if _, ok := cs.InitializeResult().Capabilities.Extensions["io.modelcontextprotocol/skills"]; !ok {
			t.Errorf("%s: the extension is not declared: %+v", revision, cs.InitializeResult().Capabilities)
		}
		list, err := cs.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "skill://greet/SKILL.md" || list.Resources[0].Description != "Greets." {
			t.Errorf(`%s: %v %+v, want len(list.Resources) 1, list.Resources[0].URI "skill://greet/SKILL.md", list.Resources[0].Description "Greets." and no error`, revision, err, list)
		}
		res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://greet/SKILL.md"})
		if err != nil || len(res.Contents) != 1 || res.Contents[0].Text != greeting["greet/SKILL.md"] || res.Contents[0].MIMEType != "text/markdown" {
			t.Errorf(`%s: %v %+v, want len(res.Contents) 1, res.Contents[0].Text %v, res.Contents[0].MIMEType "text/markdown" and no error`, revision, err, res, greeting["greet/SKILL.md"])
		}
		for _, uri := range []string{"skill://greet/none", "skill://none/SKILL.md", "file:///etc/passwd", "skill://greet/../../x", "skill://\x01\\x", "", "skill://greet"} {
			if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s: reading %q succeeded, want an error", revision, uri)
			}
		}
		if _, err := cs.ListTools(t.Context(), nil); err != nil { // the session still exists
			t.Errorf("%s: %v", revision, err)
		}
	}
}

// TestSkillsMethods checks the methods of the extension.
func TestSkillsMethods(t *testing.T) {
	w := newFixture(t)
	w.withSkills(greeting)
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Customer: "acme"})
	_, header, _ := post(t, srv.URL, initialize, nil)
	session := map[string]string{"Mcp-Session-Id": header.Get("Mcp-Session-Id")}
	for _, c := range []struct{ body, want string }{
		{`{"jsonrpc":"2.0","id":2,"method":"skills/list","params":{}}`, `"skills":[{"uri":"skill://greet/SKILL.md","frontmatter":{"name":"greet","description":"Greets."},"resources":[{"uri":"skill://greet/SKILL.md","digest":"sha256:`},
		{`{"jsonrpc":"2.0","id":2,"method":"skills/list"}`, `"skills":[`},
		{`{"jsonrpc":"2.0","id":3,"method":"skills/get","params":{"uri":"skill://greet/SKILL.md"}}`, `"skill":{"uri":"skill://greet/SKILL.md"`},
		{`{"jsonrpc":"2.0","id":4,"method":"skills/get","params":{"uri":"skill://none/SKILL.md"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"skill://none/a\"b"}}`, `"data":{"uri":"skill://none/a\"b"}`},
		{`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"demo://x"}}`, `"data":{"uri":"demo://x"}`},
		{`{"jsonrpc":"2.0","id":5,"method":"skills/list","params":{"cursor":"x"}}`, `"code":-32602`},
	} {
		if _, _, body := post(t, srv.URL, c.body, session); !strings.Contains(body, c.want) {
			t.Errorf("%s: %s, want %q in it", c.body, body, c.want)
		}
	}
}

// TestWithoutSkills checks that a customer without skills has no extension for them, and that its tools give the reason.
func TestWithoutSkills(t *testing.T) {
	w := newFixture(t)
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	if caps := cs.InitializeResult().Capabilities; len(caps.Extensions) != 1 || caps.Extensions["io.modelcontextprotocol/tasks"] == nil || caps.Resources != nil {
		t.Errorf("%+v, want only the extension of tasks, and Resources nil", caps)
	}
	for _, tool := range []string{"list_skills", "list_workspace_files"} {
		if res := call(t, cs, tool, nil); !res.IsError {
			t.Errorf("%s: %s", tool, textOf(res))
		}
	}
	for _, tool := range []string{"sanitize_pii", "restore_pii"} {
		if res := call(t, cs, tool, map[string]any{"text": "x"}); !res.IsError {
			t.Errorf("%s: %s", tool, textOf(res))
		}
	}
	if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "\x01"}); err == nil {
		t.Error("it was read: got no error, want an error")
	}
	if res := call(t, cs, "execute_code", map[string]any{"code": "1"}); res.IsError {
		t.Error(textOf(res))
	}
}
