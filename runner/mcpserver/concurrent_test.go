package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestManyBlocks checks that no text of a result with many blocks is lost, and that the reply mentions what is left out.
func TestManyBlocks(t *testing.T) {
	w := newFixture(t)
	var blocks []string
	for i := range 150 {
		blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":"item %d"}`, i), `{"type":"resource_link","uri":"file:///x","name":"x"}`)
	}
	blocks = append(blocks, `{"type":"text","text":""}`, `{"type":"hologram"}`)
	w.opt.Call = func(context.Context, *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		return &mcpserver.CallAnswer{Raw: json.RawMessage(`{"content":[` + strings.Join(blocks, ",") + `]}`)}, nil
	}
	res := call(t, w.stdio(w.server(), revisions[1], nil), "call_tool", map[string]any{"tool": "a__b"})
	text := textOf(res)
	if !strings.HasPrefix(text, "item 0\nitem 1\n") || !strings.Contains(text, "\nitem 149\n") || len(res.Content) != 101 {
		t.Errorf("%d blocks: %s, want %q at its start, %q in it and 101", len(res.Content), text, "item 0\nitem 1\n", "\nitem 149\n")
	}
	if strings.Count(text, "left out") != 2 || !strings.Contains(text, "50 more blocks") || !strings.Contains(text, "a block of 19 bytes") {
		t.Error(text)
	}
}

// TestConcurrentWrites checks that concurrent writes of one file all succeed, and that the file has the content of one.
func TestConcurrentWrites(t *testing.T) {
	w := newFixture(t)
	cs := w.stdio(w.server(), revisions[1], nil)
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			content := strings.Repeat(fmt.Sprintf("%02d", i), 10_000)
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_workspace_file", Arguments: map[string]any{"filename": "data/one.txt", "content": content}})
			if err != nil || res.IsError {
				t.Errorf("%v %+v", err, res)
			}
		})
	}
	all.Wait()
	content, _ := structured(t, call(t, cs, "read_workspace_file", map[string]any{"filename": "data/one.txt"}), "content").(string)
	if len(content) != 20_000 || content != strings.Repeat(content[:2], 10_000) {
		t.Errorf("%d bytes: %.40s", len(content), content)
	}
	if list := textOf(call(t, cs, "list_workspace_files", nil)); list != "data/one.txt (20000)" {
		t.Error(list)
	}
}

// TestInternalError checks that an error of this machine goes to the log, and no path to the client.
func TestInternalError(t *testing.T) {
	w := newFixture(t)
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id, Files: t.TempDir(), Room: func(context.Context) (int64, error) {
			return 0, errors.New("open /srv/customers/acme/lock: input/output error")
		}}, nil
	}
	res := call(t, w.stdio(w.server(), revisions[0], nil), "write_workspace_file", map[string]any{"filename": "x", "content": "y"})
	if text := textOf(res); !res.IsError || strings.Contains(text, "/srv") || !strings.Contains(text, "log has the reason") {
		t.Errorf("%v %s", res.IsError, text)
	}
}

// TestOddResources checks that files with any name have valid URIs that can be read.
func TestOddResources(t *testing.T) {
	w := newFixture(t)
	w.withSkills(map[string]string{
		"odd/SKILL.md": "---\nname: odd\ndescription: Odd.\n---\n", "odd/assets/a logo.PNG": "assets/a logo.PNG",
		"odd/assets/50%.txt": "assets/50%.txt", "odd/assets/a#b?c.json": "assets/a#b?c.json",
	})
	cs := w.stdio(w.server(), revisions[1], nil)
	for uri, want := range map[string][2]string{
		"skill://odd/assets/a%20logo.PNG":    {"assets/a logo.PNG", "image/png"},
		"skill://odd/assets/50%25.txt":       {"assets/50%.txt", "text/plain"},
		"skill://odd/assets/a%23b%3Fc.json":  {"assets/a#b?c.json", "application/json"},
		"skill://odd/..%2fodd%2fSKILL.md":    {},
		"skill://odd/assets/a%2zlogo.PNG":    {},
		"skill://odd/%2e%2e/odd/SKILL.md":    {},
		"skill://odd/assets/../SKILL.md":     {},
		"skill://odd/assets/a%20logo.PNG%00": {},
	} {
		res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if want[0] == "" {
			if err == nil {
				t.Errorf("reading %s succeeded, want an error", uri)
			}
			continue
		}
		if err != nil || len(res.Contents) != 1 || res.Contents[0].Text != want[0] || res.Contents[0].MIMEType != want[1] || res.Contents[0].URI != uri {
			t.Errorf("%s: %v %+v", uri, err, res)
		}
	}
}
