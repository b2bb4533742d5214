package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// world is what a server in a test works with.
type world struct {
	t   *testing.T
	opt mcpserver.Options
	run func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error)

	mu   sync.Mutex
	jobs []*mcpserver.Job
	logs []mcpserver.Entry
}

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	cat, lock, err := catalog.LoadTree("../../servers")
	if err != nil {
		t.Fatal(err)
	}
	w.opt = mcpserver.Options{
		Version: "test", Catalog: cat, Lock: lock, Finder: finder{cat},
		Run: func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
			w.mu.Lock()
			w.jobs = append(w.jobs, job)
			w.mu.Unlock()
			return w.run(ctx, job)
		},
		Customer: func(_ context.Context, id string) (*mcpserver.Customer, error) {
			if strings.Contains(id, "/") {
				return nil, errors.New("no such customer")
			}
			return &mcpserver.Customer{ID: id, Files: t.TempDir(), Quota: 1 << 20, Skills: &shelf{}, Vault: vault{}, Log: w}, nil
		},
	}
	w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
		return &runner.Result{Cause: runner.CauseExit, Stdout: "hello\n"}, nil
	}
	return w
}

func (w *world) Append(e mcpserver.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs = append(w.logs, e)
	return nil
}

func (w *world) Stats() (json.RawMessage, error) { return json.RawMessage(`{"sessions":1}`), nil }

func (w *world) server() *mcpserver.Server {
	w.t.Helper()
	s, err := mcpserver.New(&w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// eras are the two ways in which clients speak.
var eras = []string{"2025-11-25", "2026-07-28"}

// stdio connects a client over a pair of pipes, in an era.
func (w *world) stdio(s *mcpserver.Server, era string, opt *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Stdio(w.t.Context(), "acme", inR, outW); _ = outW.Close() }()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opt)
	cs, err := c.Connect(w.t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cs.Close()
		_ = inW.Close()
		if err := <-ended; err != nil {
			w.t.Errorf("Stdio: %v", err)
		}
	})
	return cs
}

// web serves HTTP.
func (w *world) web(s *mcpserver.Server, opt *mcpserver.HTTPOptions) *httptest.Server {
	w.t.Helper()
	h, err := s.Handler(opt)
	if err != nil {
		w.t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	w.t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv
}

func call(t *testing.T, cs *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

func textOf(res *mcp.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// structured is a member of the structured content.
func structured(t *testing.T, res *mcp.CallToolResult, name string) any {
	t.Helper()
	m, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("structured content is %T; text: %s", res.StructuredContent, textOf(res))
	}
	return m[name]
}

type finder struct{ cat *catalog.Catalog }

func (f finder) Search(_ context.Context, q mcpserver.FindQuery) ([]mcpserver.Found, error) {
	var out []mcpserver.Found
	for _, s := range f.cat.Servers {
		for _, t := range s.Tools {
			if strings.Contains(t.ID, q.Text) && (q.Category == "" || q.Category == s.Key) {
				one := mcpserver.Found{Tool: t.ID, Server: s.Key, Description: t.Description}
				if q.Detail == mcpserver.DetailFull {
					one.Source = "// " + t.ID
				}
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func (f finder) Definition(ctx context.Context, name, category, _ string) ([]mcpserver.Found, error) {
	found, _ := f.Search(ctx, mcpserver.FindQuery{Text: name, Category: category, Detail: mcpserver.DetailFull})
	if len(found) == 0 {
		return nil, fmt.Errorf("no tool %q; did you mean calculator__add?", name)
	}
	return found, nil
}

func (f finder) Categories(context.Context) ([]mcpserver.Category, error) {
	var out []mcpserver.Category
	for _, s := range f.cat.Servers {
		out = append(out, mcpserver.Category{Name: s.Key, Servers: []string{s.Key}, Tools: len(s.Tools)})
	}
	return out, nil
}

type shelf struct {
	mu   sync.Mutex
	list []mcpserver.Skill
}

func (s *shelf) Save(_ context.Context, d mcpserver.SkillDraft) (*mcpserver.Skill, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(d.Name, "/") {
		return nil, errors.New("the name must not hold /")
	}
	k := mcpserver.Skill{Name: d.Name, Description: d.Description, Language: d.Language, Code: d.Code, Path: "./skills/" + d.Name}
	s.list = append(s.list, k)
	return &k, nil
}

func (s *shelf) Load(_ context.Context, name string) (*mcpserver.Skill, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.list {
		if k.Name == name {
			return &k, nil
		}
	}
	return nil, fmt.Errorf("no skill %q", name)
}

func (s *shelf) List(context.Context) ([]mcpserver.Skill, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]mcpserver.Skill(nil), s.list...), nil
}

func (s *shelf) Published(context.Context) ([]mcpserver.PublishedSkill, error) {
	return []mcpserver.PublishedSkill{{
		Name: "greet", Frontmatter: json.RawMessage(`{"name":"greet","description":"Greets."}`),
		Files: []mcpserver.SkillFile{{Path: "SKILL.md", Size: 3, Digest: "sha256:" + strings.Repeat("ab", 32)}},
		Read:  func(string) ([]byte, error) { return []byte("hi\n"), nil },
	}}, nil
}

type vault struct{}

func (vault) Sanitize(_ context.Context, text string) (string, map[string]int, error) {
	n := strings.Count(text, "ada@example.com")
	return strings.ReplaceAll(text, "ada@example.com", "[EMAIL_1]"), map[string]int{"EMAIL": n}, nil
}

func (vault) Restore(_ context.Context, text string) (string, error) {
	if strings.Contains(text, "[EMAIL_2]") {
		return "", errors.New("unknown token [EMAIL_2]")
	}
	return strings.ReplaceAll(text, "[EMAIL_1]", "ada@example.com"), nil
}
