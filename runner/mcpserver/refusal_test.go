package mcpserver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// told collects refusals.
type told struct {
	mu  sync.Mutex
	all []mcpserver.Refusal
}

func (r *told) add(one mcpserver.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

func (r *told) take() []mcpserver.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// TestRefusalsByArguments checks that each run or call that is refused by its arguments is told of, and nothing else.
func TestRefusalsByArguments(t *testing.T) {
	for _, revision := range revisions {
		w, r := newFixture(t), &told{}
		w.opt.Refused = r.add
		session := w.stdio(w.server(), revision, nil)
		for _, c := range []struct {
			tool               string
			args               map[string]any
			action, of, reason string // no action: nothing is told
		}{
			{"execute_code", map[string]any{"code": "1"}, "", "", ""},
			{"search_tools", map[string]any{"quer": "x"}, "", "", ""},
			{"call_tool", map[string]any{"tool": "mcprun__list_skills", "arguments": map[string]any{"x": 1}}, "", "", ""},
			{"execute_code", map[string]any{"code": " "}, "execute_code", "", "execute_code: code is missing or empty"},
			{"execute_code", map[string]any{"code": "1", "language": "perl"}, "execute_code", "", `execute_code: language "perl" is not one of: typescript, python`},
			{"execute_code", map[string]any{"code": strings.Repeat("x", 2<<20)}, "execute_code", "", "execute_code: code has 2097152 bytes"},
			{"execute_code", map[string]any{"code": "1", "timeout_seconds": 1e6}, "execute_code", "", "execute_code: timeout_seconds must be"},
			{"execute_code", map[string]any{"code": "1", "cod": 1}, "execute_code", "", `execute_code: unknown argument "cod"`},
			{"call_tool", map[string]any{"tool": "crm__list", "arguments": 1}, "call_tool", "crm__list", "call_tool: arguments must be an object"},
			{"call_tool", map[string]any{"tool": "crm__list"}, "call_tool", "crm__list", "call_tool: calls without a script are not available here"},
			{"call_tool", map[string]any{"tool": 1}, "call_tool", "", "call_tool: tool must be a string"},
		} {
			res := call(t, session, c.tool, c.args)
			got := r.take()
			if c.action == "" {
				if len(got) > 0 {
					t.Errorf("%s: %s %.200v: %+v, want nothing", revision, c.tool, c.args, got)
				}
				continue
			}
			if len(got) != 1 || got[0].Action != c.action || got[0].Tool != c.of || !strings.HasPrefix(got[0].Reason, c.reason) || got[0].More != 0 ||
				got[0].Customer.ID != "acme" || got[0].Client != (mcpserver.Client{Name: "test", Version: "1"}) {
				t.Errorf("%s: %s %.200v: %+v, want %q", revision, c.tool, c.args, got, c.reason)
			}
			if !res.IsError || len(got) == 1 && !strings.Contains(textOf(res), got[0].Reason) {
				t.Errorf("%s: the client is told %q, the record %+v", revision, textOf(res), got)
			}
		}
	}
}

// TestRefusalsWithoutRoom checks that those are told of for which there is no room: at once, or when they have waited too long. In a state, the client
// may take a task or not.
func TestRefusalsWithoutRoom(t *testing.T) {
	state := newState(t)
	for name, set := range map[string]func(*mcpserver.Options){
		"in memory": func(o *mcpserver.Options) { o.Parallel = 1 }, "in a state": state.one(t),
	} {
		t.Run(name, func(t *testing.T) {
			r := &told{}
			w, c, release := tasksFixture(t, func(o *mcpserver.Options) {
				o.Refused, o.Waiting, o.MaxWait = r.add, 2, 50*time.Millisecond
				set(o)
			})
			running := c.run()
			session := w.stdio(w.srv, revisions[1], nil)
			late := call(t, session, "execute_code", map[string]any{"code": "late"})
			if !late.IsError || !strings.Contains(textOf(late), "no place became free for 50ms") {
				t.Errorf("%q, want busy", textOf(late))
			}
			want := []string{"acme no place became free for 50ms"}
			if name == "in a state" {
				ids, busy := c.jam(c.fill(running.TaskID))
				plain := c
				plain.caps = "{}"
				for _, full := range []*wireTask{busy, plain.run()} {
					if len(full.Content) != 1 || !strings.Contains(full.Content[0].Text, "2 calls wait already") {
						t.Errorf("%+v, want busy", full)
					}
				}
				if len(ids) != 3 {
					t.Errorf("%d tasks, want one that runs and two that wait", len(ids))
				}
				want = append(want, "ada 2 calls wait already", "ada 2 calls wait already")
			}
			release <- "done"
			if got := c.until(running.TaskID, "completed", "failed"); got.Status != "completed" {
				t.Errorf("%+v, want the result", got)
			}
			var got []string
			for _, one := range r.take() {
				_, reason, _ := strings.Cut(one.Reason, "the server is busy: ")
				reason, _, _ = strings.Cut(reason, ".")
				if got = append(got, one.Customer.ID+" "+reason); one.Action != "execute_code" {
					t.Errorf("%+v, want the action execute_code", one)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("told of %q, want %q", got, want)
			}
		})
	}
}

// TestRefusalInPassthrough checks that the tool is told that should have been called.
func TestRefusalInPassthrough(t *testing.T) {
	w, r := newFixture(t), &told{}
	w.opt.Mode, w.opt.Refused = mcpserver.ModePassthrough, r.add
	session := w.stdio(w.server(), revisions[1], nil)
	known := w.opt.Catalog.Servers[0].Tools[0].ID
	for _, name := range []string{known, "no.such"} { // there is no Call
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name}); err != nil {
			t.Fatal(err)
		}
		if got := r.take(); len(got) != 1 || got[0].Action != "call_tool" || got[0].Tool != name {
			t.Errorf("told of %+v, want a call of %s", got, name)
		}
	}
}

// TestFloodOfRefusals checks that of many refusals of a customer in a minute only some are told of, and the rest as one, at its end or that of the
// server.
func TestFloodOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newFixture(t), &told{}
		w.opt.Refused, w.opt.TaskAfter = r.add, -1
		server := w.server()
		session := w.stdio(server, revisions[1], nil)
		flood := func(n int) {
			for i := range n {
				call(t, session, "execute_code", map[string]any{"code": "1", "language": fmt.Sprint("l", i)})
			}
		}
		flood(50)
		if got := r.take(); len(got) != 20 || got[19].More != 0 {
			t.Errorf("told of %d refusals, want the first 20", len(got))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := r.take(); len(got) != 1 || got[0].More != 29 || !strings.Contains(got[0].Reason, `"l49"`) {
			t.Errorf("at the end of the minute: %+v, want the last of 30", got)
		}
		time.Sleep(time.Hour)
		flood(22)
		_ = session.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if got := r.take(); len(got) != 21 || got[20].More != 1 {
			t.Errorf("told of %d refusals after an hour, want 20 and one for two", len(got))
		}
	})
}

// TestRefusedByProject checks that calls are told of that are refused because the project cannot be used.
func TestRefusedByProject(t *testing.T) {
	w, r := newFixture(t), &told{}
	w.opt.Refused = r.add
	w.opt.Reload = func(context.Context) (*mcpserver.Project, error) { return nil, fmt.Errorf("mcpgen.yaml is broken") }
	w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
		t.Error("it runs")
		return nil, nil
	}
	session := w.stdio(w.server(), revisions[1], nil)
	for tool, want := range map[string]int{"execute_code": 1, "search_tools": 0} {
		call(t, session, tool, map[string]any{"code": "1"})
		if got := r.take(); len(got) != want || want == 1 && !strings.Contains(got[0].Reason, "mcpgen.yaml is broken") {
			t.Errorf("%s: told of %+v, want %d", tool, got, want)
		}
	}
}
