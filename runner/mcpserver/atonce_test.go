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

// TestManyBlocks: servers answer with a block for each item; no text is lost, and what is left out is told.
func TestManyBlocks(t *testing.T) {
	w := newWorld(t)
	var blocks []string
	for i := range 150 {
		blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":"item %d"}`, i), `{"type":"resource_link","uri":"file:///x","name":"x"}`)
	}
	blocks = append(blocks, `{"type":"text","text":""}`, `{"type":"hologram"}`)
	w.opt.Call = func(context.Context, *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		return &mcpserver.CallAnswer{Raw: json.RawMessage(`{"content":[` + strings.Join(blocks, ",") + `]}`)}, nil
	}
	res := call(t, w.stdio(w.server(), eras[1], nil), "call_tool", map[string]any{"tool": "a__b"})
	text := textOf(res)
	if !strings.HasPrefix(text, "item 0\nitem 1\n") || !strings.Contains(text, "\nitem 149\n") || len(res.Content) != 101 {
		t.Errorf("%d blocks: %s", len(res.Content), text)
	}
	if strings.Count(text, "left out") != 2 || !strings.Contains(text, "50 more blocks") || !strings.Contains(text, "a block of 19 bytes") {
		t.Error(text)
	}
}

// TestWritesAtOnce: of writes of one file at the same time each is whole, and none fails.
func TestWritesAtOnce(t *testing.T) {
	w := newWorld(t)
	cs := w.stdio(w.server(), eras[1], nil)
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

// TestSessionsAtOnce: the bound of sessions holds also for clients that come at the same moment.
func TestSessionsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.opt.MaxSessions = 3
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	ada := map[string]string{"Authorization": "Bearer " + tokenOfAda}
	var all sync.WaitGroup
	var mu sync.Mutex
	came := map[int]int{}
	for range 40 {
		all.Go(func() {
			status, _, _ := post(t, srv.URL, initialize, ada)
			mu.Lock()
			defer mu.Unlock()
			came[status]++
		})
	}
	all.Wait()
	if came[200] < 1 || came[200] > 3 || came[200]+came[503] != 40 {
		t.Errorf("%v", came)
	}
	for range 3 - came[200] { // what was refused took no place
		if status, _, body := post(t, srv.URL, initialize, ada); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	}
	if status, _, _ := post(t, srv.URL, initialize, ada); status != 503 {
		t.Errorf("one more than the bound: %d", status)
	}
}

// TestFailureOfTheMachine: what went wrong on the machine is in the log, and no path of it goes to the client.
func TestFailureOfTheMachine(t *testing.T) {
	w := newWorld(t)
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id, Files: t.TempDir(), Room: func(context.Context) (int64, error) {
			return 0, errors.New("open /srv/customers/acme/lock: input/output error")
		}}, nil
	}
	res := call(t, w.stdio(w.server(), eras[0], nil), "write_workspace_file", map[string]any{"filename": "x", "content": "y"})
	if text := textOf(res); !res.IsError || strings.Contains(text, "/srv") || !strings.Contains(text, "log says why") {
		t.Errorf("%v %s", res.IsError, text)
	}
}

// oddShelf has a skill with files whose names no address has as they are.
type oddShelf struct{ shelf }

func (s *oddShelf) Published(context.Context) ([]mcpserver.PublishedSkill, error) {
	k := mcpserver.PublishedSkill{Name: "odd", Frontmatter: json.RawMessage(`{"name":"odd","description":"Odd."}`)}
	for _, path := range []string{"SKILL.md", "assets/a logo.PNG", "assets/50%.txt", "assets/a#b?c.json"} {
		k.Files = append(k.Files, mcpserver.SkillFile{Path: path, Size: int64(len(path)), Digest: "sha256:" + strings.Repeat("ab", 32)})
	}
	k.Read = func(path string) ([]byte, error) { return []byte(path), nil }
	return []mcpserver.PublishedSkill{k}, nil
}

// TestOddResources: whatever a skill's files are called, their addresses are valid and lead to them.
func TestOddResources(t *testing.T) {
	w := newWorld(t)
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id, Skills: &oddShelf{}}, nil
	}
	cs := w.stdio(w.server(), eras[1], nil)
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
				t.Errorf("%s was read", uri)
			}
			continue
		}
		if err != nil || len(res.Contents) != 1 || res.Contents[0].Text != want[0] || res.Contents[0].MIMEType != want[1] || res.Contents[0].URI != uri {
			t.Errorf("%s: %v %+v", uri, err, res)
		}
	}
}
