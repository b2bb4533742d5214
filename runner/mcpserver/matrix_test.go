package mcpserver_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) {
	upstreamtest.Main()
	frontMain()
	os.Exit(pgtest.Main(m))
}

// TestEveryRevision checks that clients of each revision reach servers of both eras, over each pair of transports: a list of
// tools, a call, and a call about which the server asks the client's user.
func TestEveryRevision(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, era := range []struct {
			mode upstreamtest.Mode
			want string
		}{{upstreamtest.LegacyOnly, "2025-11-25"}, {upstreamtest.ModernOnly, "2026-07-28"}} {
			for _, front := range []string{"stdio", "http"} {
				for _, behind := range []string{"stdio", "http"} {
					t.Run(revision+" over "+front+", "+string(era.mode)+" over "+behind, func(t *testing.T) {
						t.Parallel()
						var srv config.Server
						var web *upstreamtest.HTTP
						if behind == "http" {
							web = upstreamtest.NewHTTP(t, era.mode, &upstreamtest.HTTPOptions{EventStream: true, Sessions: true})
							srv = web.Config()
						} else {
							srv = upstreamtest.Server(t, era.mode)
						}
						said := throughServe(t, srv, front, revision)
						if want := `{"a":"x"} {"answers":[{"action":"accept","content":{"sure":true}}]}`; said != want {
							t.Errorf("got %s, want %s", said, want)
						}
						if web == nil {
							return
						}
						for _, version := range web.Versions() {
							if version != era.want {
								t.Errorf("the server got a call in the version %q, want %q", version, era.want)
							}
						}
					})
				}
			}
		}
	}
}

// throughServe has a client run code that calls a server, and returns what the server answered.
func throughServe(t *testing.T, srv config.Server, front, revision string) string {
	t.Helper()
	pool := upstream.NewPool([]config.Server{srv}, &upstream.Options{Elicit: true})
	t.Cleanup(func() { _ = pool.Close() })
	w := newFixture(t)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		if _, err := pool.Definition(ctx, "fake", upstreamtest.ToolEcho); err != nil {
			return nil, err
		}
		said := ""
		for _, c := range []struct{ tool, args string }{
			{upstreamtest.ToolEcho, `{"a":"x"}`},
			{upstreamtest.ToolForm, `{"message":"Really?","schema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`},
		} {
			res, err := pool.Call(ctx, "fake", c.tool, json.RawMessage(c.args), &upstream.CallOptions{Elicit: job.Ask, Owner: job})
			if err != nil {
				return nil, err
			}
			if said != "" {
				said += " "
			}
			said += string(res.Structured)
		}
		return &runner.Result{Cause: runner.CauseExit, Stdout: said}, nil
	}
	client := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"sure": true}}, nil
		},
	}
	var cs *mcp.ClientSession
	if front == "http" {
		cs = connect(t, w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)}).URL, tokenOfAda, revision, client)
	} else {
		cs = w.stdio(w.server(), revision, client)
	}
	return textOf(call(t, cs, "execute_code", map[string]any{"code": "1"}))
}
