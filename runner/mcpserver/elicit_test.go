package mcpserver_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
)

// TestElicit checks that a server's question reaches the client's user and the answer the server, with and without sessions.
func TestElicit(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			w := newFixture(t)
			w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
				said := ""
				if !job.CanAsk {
					t.Error("CanAsk = false for a client with forms")
				}
				for _, q := range []*upstream.Question{
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
			cs := w.stdio(w.server(), revision, &mcp.ClientOptions{
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
				t.Errorf(`asked %q, want len(asked) 2, asked[0] "[crm] Really?" and "https://example.com/login" at its end`, asked)
			}
			if len(w.jobs) != 1 {
				t.Errorf("got %d runs, want 1", len(w.jobs))
			}
		})
	}
}

// TestElicitHidesPersonalData checks that the client sees tokens in a server's question and the server gets what they stand for, but nothing of
// another server whose token it writes.
func TestElicitHidesPersonalData(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			w := newFixture(t)
			p := &chain.Personal{Outlet: pii.NewOutlet(piitest.Vault(t), pii.OutletSettings{}), Mode: config.PIIOutput, Servers: map[string]config.PIIMode{"notes": config.PIIOff}}
			if got := p.Mask("kim@example.com"); got != "[EMAIL_1]" {
				t.Fatalf("Mask() = %s, want [EMAIL_1]", got)
			}
			w.opt.Customer = func(context.Context, string) (*mcpserver.Customer, error) {
				return &mcpserver.Customer{ID: "acme", Skills: always(skillsIn(t, nil)), Log: w, Personal: func() *chain.Personal { return p }}, nil
			}
			form := func(server, format, address string) *upstream.Question {
				return &upstream.Question{Server: server, Message: "Write to " + address + "?", Schema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"` + format + `,"default":"` + address + `"}}}`)}
			}
			var asked, got []string
			w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
				for _, q := range []*upstream.Question{form("crm", `,"format":"email"`, "ann@example.com"), form("crm", "", "[EMAIL_1]"), form("notes", "", "[EMAIL_1]")} {
					a, err := job.Ask(ctx, q)
					if err != nil {
						return nil, err
					}
					got = append(got, a.Action+string(a.Content))
				}
				return &runner.Result{Cause: runner.CauseExit}, nil
			}
			cs := w.stdio(w.server(), revision, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, req.Params.Message)
					_, rest, _ := strings.Cut(req.Params.Message, "Write to ")
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"to": strings.TrimSuffix(rest, "?")}}, nil
				},
			})
			call(t, cs, "execute_code", map[string]any{"code": "1"})
			if want := []string{"[crm] Write to [EMAIL_2]?", "[crm] Write to [LITERAL_1]?", "[notes] Write to [EMAIL_1]?"}; !slices.Equal(asked, want) {
				t.Errorf("asked %q, want %q", asked, want)
			}
			if want := []string{`accept{"to":"ann@example.com"}`, `accept{"to":"[EMAIL_1]"}`, `accept{"to":"[EMAIL_1]"}`}; !slices.Equal(got, want) {
				t.Errorf("the servers got %q, want %q", got, want)
			}
		})
	}
}

// TestNoElicitation checks that questions to a client without elicitation are declined at once.
func TestNoElicitation(t *testing.T) {
	for _, revision := range revisions {
		w := newFixture(t)
		w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
			if job.CanAsk {
				t.Error("CanAsk = true for a client without elicitation")
			}
			a, err := job.Ask(ctx, &upstream.Question{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
			if err != nil {
				return nil, err
			}
			return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action}, nil
		}
		if got := textOf(call(t, w.stdio(w.server(), revision, nil), "execute_code", map[string]any{"code": "1"})); got != "decline" {
			t.Errorf(`%s: %q, want "decline"`, revision, got)
		}
	}
}

// TestNoAnswer checks that a run without an answer ends, and that an unknown or used requestState runs nothing.
func TestNoAnswer(t *testing.T) {
	w := newFixture(t)
	w.opt.AnswerTime = 50 * time.Millisecond
	ended := make(chan error, 1)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		_, err := job.Ask(ctx, &upstream.Question{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
		ended <- err
		return nil, err
	}
	cs := w.stdio(w.server(), revisions[1], &mcp.ClientOptions{
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
			t.Error("it was answered: got no error, want an error")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the run still waits, want it ended")
	}
	for _, state := range []string{res.RequestState, "made up"} {
		again, err := cs.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "execute_code", Arguments: map[string]any{"code": "1"}, RequestState: state,
			InputResponses: mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "accept"}},
		})
		if err == nil || !strings.Contains(err.Error(), "no run waits") {
			t.Errorf(`%v %+v, want an error and "no run waits" in it`, err, again)
		}
	}
	if len(w.jobs) != 1 {
		t.Errorf("got %d runs, want 1", len(w.jobs))
	}
}

// TestUnusableAnswers checks that a client that returns without a usable answer is asked again a few times.
func TestUnusableAnswers(t *testing.T) {
	w := newFixture(t)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		a, err := job.Ask(ctx, &upstream.Question{Message: "?", Schema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)})
		if err != nil {
			return nil, err
		}
		return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action + string(a.Content)}, nil
	}
	cs := w.stdio(w.server(), revisions[1], &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	good := mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": 1}}}
	missing := mcp.InputResponseMap{"another": good["answer"]}
	unfit := mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": "one"}}}
	odd := mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "perhaps"}}
	for _, c := range []struct {
		answers []mcp.InputResponseMap
		want    string
	}{
		{[]mcp.InputResponseMap{nil, good}, `accept{"n":1}`},
		{[]mcp.InputResponseMap{missing, unfit, good}, `accept{"n":1}`},
		{[]mcp.InputResponseMap{odd, missing, unfit}, "cancel"},
	} {
		params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}}
		res, err := cs.CallTool(t.Context(), params)
		for i, answer := range c.answers {
			if err != nil || !res.NeedsInput() || res.InputRequests["answer"] == nil {
				t.Fatalf("before answer %d: %+v, %v, want the question", i, res, err)
			}
			params.RequestState, params.InputResponses = res.RequestState, answer
			res, err = cs.CallTool(t.Context(), params)
		}
		if err != nil || res.NeedsInput() || textOf(res) != c.want {
			t.Errorf("after %d answers: %+v, %v, want %s", len(c.answers), res, err, c.want)
		}
	}
	if len(w.jobs) != 3 {
		t.Errorf("got %d runs, want 3", len(w.jobs))
	}
}

// TestApproveByForm has the client's user approve a call, with and without sessions.
func TestApproveByForm(t *testing.T) {
	for _, revision := range revisions {
		w := newFixture(t)
		w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
			a, err := approve.New(0, approve.Elicit(job.Ask, "user")).Approve(ctx, &approve.Question{Run: "r", Tool: "crm__delete", Server: "crm"})
			return &runner.Result{Cause: runner.CauseExit, Stdout: string(a.Scope) + " by " + a.By}, err
		}
		answers := []string{"run", "no"}
		cs := w.stdio(w.server(), revision, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
			ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				if !strings.HasPrefix(req.Params.Message, "[mcprun] crm__delete needs your approval\n") {
					t.Errorf("%s: the client shows %q, want %q at its start", revision, req.Params.Message, "[mcprun] crm__delete needs your approval\n")
				}
				answer := answers[0]
				answers = answers[1:]
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
			},
		})
		for _, want := range []string{"run by user", " by user"} {
			if got := textOf(call(t, cs, "execute_code", map[string]any{"code": "1"})); strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("%s: %q, want %q", revision, got, want)
			}
		}
	}
}
