package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// fixture holds the options of a server in a test, and records what the server does.
type fixture struct {
	t   *testing.T
	opt mcpserver.Options
	run func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error)
	srv *mcpserver.Server // of tasksFixture

	mu   sync.Mutex
	jobs []*mcpserver.Job
	logs []mcpserver.Entry
}

func newFixture(t *testing.T) *fixture {
	w := &fixture{t: t}
	cat, lock, err := catalog.LoadTree("../../servers")
	if err != nil {
		t.Fatal(err)
	}
	w.opt = mcpserver.Options{
		Version: "test", Project: mcpserver.Project{Catalog: cat, Lock: lock, Finder: finder{cat}},
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
			return &mcpserver.Customer{ID: id, Files: t.TempDir(), Quota: 1 << 20, Skills: always(skillsIn(t, nil)), Vault: piitest.Vault(t), Log: w}, nil
		},
	}
	w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
		return &runner.Result{Cause: runner.CauseExit, Stdout: "hello\n"}, nil
	}
	return w
}

func (w *fixture) Append(e mcpserver.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs = append(w.logs, e)
	return nil
}

func (w *fixture) Stats() (json.RawMessage, error) { return json.RawMessage(`{"sessions":1}`), nil }

func (w *fixture) server() *mcpserver.Server {
	w.t.Helper()
	s, err := mcpserver.New(&w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// revisions are one revision with sessions and one stateless one.
var revisions = []string{"2025-11-25", "2026-07-28"}

// stdio connects a client over a pair of pipes, in a revision.
func (w *fixture) stdio(s *mcpserver.Server, revision string, opt *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Stdio(w.t.Context(), "acme", inR, outW); _ = outW.Close() }()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opt)
	cs, err := c.Connect(w.t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
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

// web serves the server over HTTP.
func (w *fixture) web(s *mcpserver.Server, opt *mcpserver.HTTPOptions) *httptest.Server {
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

// structured returns a member of the structured content.
func structured(t *testing.T, res *mcp.CallToolResult, name string) any {
	t.Helper()
	m, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("structured content is %T; text: %s", res.StructuredContent, textOf(res))
	}
	return m[name]
}

// metaOf returns a member of a result's part for programs.
func metaOf(res *mcp.CallToolResult, name string) any {
	m, _ := res.Meta["com.github.mcpgen/run"].(map[string]any)
	return m[name]
}

type finder struct{ cat *catalog.Catalog }

func (f finder) Search(_ context.Context, q search.Query, detail search.Detail, _ string) ([]search.Result, error) {
	var out []search.Result
	for _, s := range f.cat.Servers {
		for _, t := range s.Tools {
			named := func(text string) bool { return strings.Contains(t.ID, text) }
			if (named(q.Text) || slices.ContainsFunc(q.Also, named)) && (q.Category == "" || q.Category == s.Key) {
				one := search.Result{Tool: t.ID, Server: s.Key, Description: t.Description}
				if detail == search.DetailFull {
					one.Source = "// " + t.ID
				}
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func (f finder) Definition(ctx context.Context, name, category, language string) ([]search.Result, error) {
	found, _ := f.Search(ctx, search.Query{Text: name, Category: category}, search.DetailFull, language)
	if len(found) == 0 {
		return nil, fmt.Errorf("no tool %q; did you mean calculator__add?", name)
	}
	return found, nil
}

func (f finder) Categories() []mcpserver.Category {
	var out []mcpserver.Category
	for _, s := range f.cat.Servers {
		out = append(out, mcpserver.Category{Name: s.Key, Servers: []string{s.Key}, Tools: len(s.Tools)})
	}
	return out
}

// skillsIn returns a store of skills: an empty folder, and the files of shipped, if there are any.
func skillsIn(t *testing.T, shipped fs.FS) *skill.Store {
	t.Helper()
	dirs := []skill.Dir{{Path: t.TempDir(), Writable: true}}
	if shipped != nil {
		dirs = append(dirs, skill.Dir{FS: shipped, Shipped: true})
	}
	store, err := skill.Open(dirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// withSkills gives customers shipped skills, by their file names.
func (w *fixture) withSkills(files map[string]string) {
	shipped := fstest.MapFS{}
	for name, text := range files {
		shipped[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id, Files: w.t.TempDir(), Skills: always(skillsIn(w.t, shipped))}, nil
	}
}

// always returns the skills of a customer whose project does not change.
func always(store *skill.Store) func() (*skill.Store, error) {
	return func() (*skill.Store, error) { return store, nil }
}
