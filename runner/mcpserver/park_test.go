package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestElicit: a question of a server reaches the client's person, and the answer the server, in both eras.
func TestElicit(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			w := newWorld(t)
			w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
				said := ""
				for _, q := range []*mcpserver.Question{
					{Server: "crm", Message: "Really?", Schema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}}}`)},
					{Server: "crm", Message: "Log in", URL: "https://example.com/login"},
				} {
					a, err := job.Ask(ctx, q)
					if err != nil {
						return nil, err
					}
					said += a.Action + string(a.Content) + "\n"
				}
				return &runner.Result{Cause: runner.CauseExit, Stdout: said}, nil
			}
			var asked []string
			cs := w.stdio(w.server(), era, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, req.Params.Message+req.Params.URL)
					if req.Params.Mode == "url" {
						return &mcp.ElicitResult{Action: "decline"}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"sure": true}}, nil
				},
			})
			res := call(t, cs, "execute_code", map[string]any{"code": "1"})
			if got := textOf(res); got != "accept{\"sure\":true}\ndecline" || res.IsError {
				t.Errorf("%q", got)
			}
			if len(asked) != 2 || asked[0] != "[crm] Really?" || !strings.HasSuffix(asked[1], "https://example.com/login") {
				t.Errorf("asked %q", asked)
			}
			if len(w.jobs) != 1 {
				t.Errorf("%d runs were made", len(w.jobs))
			}
		})
	}
}

// TestNobodyToAsk: a client that cannot ask declines at once.
func TestNobodyToAsk(t *testing.T) {
	for _, era := range eras {
		w := newWorld(t)
		w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
			a, err := job.Ask(ctx, &mcpserver.Question{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
			if err != nil {
				return nil, err
			}
			return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action}, nil
		}
		if got := textOf(call(t, w.stdio(w.server(), era, nil), "execute_code", map[string]any{"code": "1"})); got != "decline" {
			t.Errorf("%s: %q", era, got)
		}
	}
}

// TestNoAnswer: a run whose question is never answered ends, and a state that was made up, or used before, runs nothing.
func TestNoAnswer(t *testing.T) {
	w := newWorld(t)
	w.opt.AnswerTime = 50 * time.Millisecond
	ended := make(chan error, 1)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		_, err := job.Ask(ctx, &mcpserver.Question{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
		ended <- err
		return nil, err
	}
	cs := w.stdio(w.server(), eras[1], &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}})
	if err != nil || !res.NeedsInput() || res.RequestState == "" {
		t.Fatalf("%v %+v", err, res)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it was answered")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the run waits for ever")
	}
	for _, state := range []string{res.RequestState, "made up"} {
		again, err := cs.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "execute_code", Arguments: map[string]any{"code": "1"}, RequestState: state,
			InputResponses: mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "accept"}},
		})
		if err == nil || !strings.Contains(err.Error(), "no run waits") {
			t.Errorf("%v %+v", err, again)
		}
	}
	if len(w.jobs) != 1 {
		t.Errorf("%d runs were made", len(w.jobs))
	}
}
