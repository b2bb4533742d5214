package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestProjectChanges checks that a call sees the current project, that clients are notified of a changed list of tools, and that a project
// that cannot be read stops all tools until it can be read again.
func TestProjectChanges(t *testing.T) {
	for _, revision := range revisions {
		for _, over := range []string{"stdio", "http"} {
			t.Run(revision+" over "+over, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				full := w.opt.Project
				w.opt.Project = mcpserver.Project{}
				var now atomic.Pointer[mcpserver.Project]
				now.Store(&mcpserver.Project{})
				var broken atomic.Pointer[error]
				w.opt.Reload = func(context.Context) (*mcpserver.Project, error) {
					if err := broken.Load(); err != nil {
						return nil, *err
					}
					return now.Load(), nil
				}
				changed := make(chan struct{}, 10)
				client := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }}
				s := w.server()
				var cs *mcp.ClientSession
				if over == "http" {
					cs = connect(t, w.web(s, &mcpserver.HTTPOptions{Tokens: tokensOf(t)}).URL, tokenOfAda, revision, client)
				} else {
					cs = w.stdio(s, revision, client)
				}
				if got := textOf(call(t, cs, "search_tools", map[string]any{"query": "record"})); !strings.Contains(got, "no generated tree") {
					t.Errorf(`without a tree: %s, want "no generated tree" in it`, got)
				}

				now.Store(&full)
				if err := s.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				select {
				case <-changed:
				case <-time.After(20 * time.Second):
					t.Fatal("the client was not told that the tools changed")
				}
				list, err := cs.ListTools(t.Context(), nil)
				if err != nil || len(list.Tools) == 0 || !strings.Contains(list.Tools[0].Description, "./servers/") {
					t.Errorf("the tools are not those of the new tree: %v, %+v", err, list)
				}
				if got := textOf(call(t, cs, "search_tools", map[string]any{"query": "record"})); strings.Contains(got, "no generated tree") {
					t.Errorf(`with a tree: %s, want no "no generated tree" in it`, got)
				}

				for _, c := range []struct {
					err  error
					want string
				}{{errors.New("mcpgen.yaml:3: it is no policy"), "mcpgen.yaml:3: it is no policy"}, {forPeople{}, "a person must agree"}} {
					broken.Store(&c.err)
					for _, tool := range []string{"execute_code", "search_tools", "list_workspace_files"} {
						res := call(t, cs, tool, map[string]any{"code": "1", "query": "record"})
						if want := tool + ": nothing was done: " + c.want; !res.IsError || textOf(res) != want {
							t.Errorf("with a broken project: %s, want %s", textOf(res), want)
						}
					}
				}
				if len(w.jobs) != 0 {
					t.Errorf("%d runs with a broken project, want 0", len(w.jobs))
				}
				broken.Store(nil)
				if got := textOf(call(t, cs, "execute_code", map[string]any{"code": "1"})); got != "hello" {
					t.Errorf(`once it is mended: %s, want "hello"`, got)
				}
				if len(changed) > 0 {
					t.Errorf("the client was told of a change of the tools that there was not: got %v, want at most 0", len(changed))
				}
			})
		}
	}
}

// forPeople is an error with one text for people and another for models.
type forPeople struct{}

func (forPeople) Error() string    { return "the configuration is not trusted" }
func (forPeople) Hint() string     { return "agree to it" }
func (forPeople) ForModel() string { return "a person must agree" }
