package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// asking is a server that asks a person about each call.
type asking struct{}

func (asking) Call(ctx context.Context, _, _ string, _ json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
	reply, err := opt.Elicit(ctx, &upstream.Question{Message: "sure?"})
	if err != nil {
		return nil, err
	}
	return &upstream.CallResult{Structured: json.RawMessage(`"` + reply.Action + `"`)}, nil
}

// TestElicitationHoldsTheClock: neither a call's time nor the run's goes on while a question is open.
func TestElicitationHoldsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reply map[string]json.RawMessage
		res, err := run(t, asking{}, runner.Script{
			Timeout: time.Second, Calls: chain.Settings{Timeout: time.Second},
			Elicit: func(context.Context, *upstream.Question) (*upstream.Reply, error) {
				time.Sleep(time.Hour)
				return &upstream.Reply{Action: upstream.ActionDecline}, nil
			},
		}, func(g *guest) sandbox.Exit {
			g.begin()
			reply = g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
			g.send(object{"type": "call", "id": 2, "tool": "calculator__add", "args": object{"numbers": []int{1, 2}}})
			g.receive()
			return g.killed() // it goes on and on, and its time is up
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(reply["value"]) != `"decline"` || res.Cause != runner.CauseTimeout || res.DurationMS < 7_200_000 || res.DurationMS > 7_202_000 {
			t.Errorf("reply %s, cause %q after %v ms, want %q, %q, at least 7_200_000 and at most 7_202_000", reply["value"], res.Cause, res.DurationMS, `"decline"`, runner.CauseTimeout)
		}
		if !strings.Contains(res.Message, "2 calls already succeeded; running the script again will repeat them: calculator__add ok ×2") {
			t.Errorf(`message %q, want "2 calls already succeeded; running the script again will repeat them: calculator__add ok ×2" in it`, res.Message)
		}
	})
}

// TestBrokenSandbox does not take with it what the script did before: running it again would repeat its calls, and its output is
// the only trace of it.
func TestBrokenSandbox(t *testing.T) {
	broke := &fakeBackend{broke: &runner.BackendError{Message: "the engine went away", Remedy: "start it again"}, guest: func(g *guest) sandbox.Exit {
		g.begin()
		g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		fmt.Fprint(g.spec.Stdout, "half")
		return sandbox.Exit{Code: 137}
	}}
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: json.RawMessage(`{"result":3}`)}}}
	script := runner.Script{Code: "1", Language: sandbox.LangPython, Backend: broke, Capture: true}
	res, err := newRunner(t, up).Run(t.Context(), script)
	if err != nil || res.ExitCode != exit.Runner || res.Cause != runner.CauseBridge || res.Stdout != "half" || res.CallCount != 1 {
		t.Fatalf(`%+v, error %v, want ExitCode %v, Cause %v, Stdout "half", CallCount 1 and no error`, res, err, exit.Runner, runner.CauseBridge)
	}
	if want := `sandbox "fake": the engine went away; start it again; 1 call already succeeded; running the script again will repeat it: calculator__add ok`; res.Message != want {
		t.Errorf("message %q, want %q", res.Message, want)
	}
	crashed, err := run(t, up, runner.Script{}, func(g *guest) sandbox.Exit {
		g.begin()
		g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		return sandbox.Exit{Code: 133}
	})
	if err != nil || !strings.Contains(crashed.Message, "SIGTRAP") || !strings.Contains(crashed.Message, "calculator__add ok") {
		t.Errorf(`a crash: %+v, error %v, want "SIGTRAP" in it, "calculator__add ok" in it and no error`, crashed, err)
	}
	broke.guest = func(*guest) sandbox.Exit { return sandbox.Exit{Code: 137} }
	if res, err := newRunner(t, up).Run(t.Context(), script); err == nil || !strings.Contains(err.Error(), "went away") {
		t.Errorf(`before the script began: %+v, error %v, want an error and "went away" in it`, res, err)
	}
}

func TestLargeResultAndOutput(t *testing.T) {
	big := strings.Repeat("word ", 1000)
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: json.RawMessage(`{"result":"` + big + `"}`)}}}
	dir := t.TempDir()
	var reply map[string]json.RawMessage
	res, err := run(t, up, runner.Script{Capture: true, Workspace: dir, MaxOutput: 10, Calls: chain.Settings{MaxResult: 1000}}, func(g *guest) sandbox.Exit {
		g.begin()
		reply = g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		fmt.Fprint(g.spec.Stdout, "0123456789abc")
		writeFile(t, filepath.Join(dir, "mine.txt"), "x")
		g.done(nil)
		return sandbox.Exit{}
	})
	if err != nil {
		t.Fatal(err)
	}
	var handle struct{ Path string }
	if err := json.Unmarshal(reply["value"], &handle); err != nil || string(reply["as"]) != `"handle"` {
		t.Fatalf("reply %s %s, want %q and no error", reply["as"], reply["value"], `"handle"`)
	}
	kept, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(handle.Path, "/workspace/")))
	if err != nil || string(kept) != `{"result":"`+big+`"}` {
		t.Errorf("%.50s %v, want %q and no error", kept, err, `{"result":"`+big+`"}`)
	}
	if len(res.Files) != 1 || res.Files[0] != "mine.txt" {
		t.Errorf(`files %q: only the script's own are told, want len(res.Files) 1 and res.Files[0] "mine.txt"`, res.Files)
	}
	head, line, _ := strings.Cut(res.Stdout, "\n")
	if head != "0123456789" || res.StdoutCut != 3 {
		t.Errorf(`%q, cut %d, want "0123456789" and 3`, res.Stdout, res.StdoutCut)
	}
	_, name, _ := strings.Cut(line, "all of it is in ")
	name, _, _ = strings.Cut(name, " in the workspace]")
	if all, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(all) != "0123456789abc" {
		t.Errorf(`%q: %q %v, want "0123456789abc" and no error`, line, all, err)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "calculator__add: the result does not match") {
		t.Errorf(`warnings %q, want len(res.Warnings) 1 and "calculator__add: the result does not match" in it`, res.Warnings)
	}
}

// TestWorkspaceCopy: where the script works in a copy of the workspace, it would not find what the host puts there.
func TestWorkspaceCopy(t *testing.T) {
	value := `{"result":"` + strings.Repeat("x", 2000) + `"}`
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: json.RawMessage(value)}}}
	dir := t.TempDir()
	var reply map[string]json.RawMessage
	backend := &fakeBackend{remote: true, guest: func(g *guest) sandbox.Exit {
		g.begin()
		reply = g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		g.done(nil)
		return sandbox.Exit{}
	}}
	_, err := newRunner(t, up).Run(t.Context(), runner.Script{
		Name: "s.py", Language: sandbox.LangPython, Backend: backend, Workspace: dir, Calls: chain.Settings{MaxResult: 100},
	})
	if err != nil || string(reply["value"]) != value {
		t.Errorf("%v: %.100s, want %v and no error", err, reply["value"], value)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("in the workspace: %v, want len(entries) at most 0", entries)
	}
}

// TestOrderOfCalls: calls are told in the order in which they were made, not in which they ended.
func TestOrderOfCalls(t *testing.T) {
	up := slowFirst{first: make(chan struct{})}
	res, err := run(t, up, runner.Script{}, func(g *guest) sandbox.Exit {
		g.begin()
		for i, tool := range []string{"add", "subtract"} {
			g.send(object{"type": "call", "id": i + 1, "tool": "calculator__" + tool, "args": object{"numbers": []int{1, 2}, "a": 1, "b": 2}})
		}
		g.receive()
		close(up.first)
		g.receive()
		g.done(nil)
		return sandbox.Exit{}
	})
	if err != nil || len(res.Calls) != 2 || res.Calls[0].Tool != "calculator__add" || res.Calls[0].Call != 1 || res.Calls[1].Call != 2 {
		t.Errorf(`%+v %v, want len(res.Calls) 2, res.Calls[0].Tool "calculator__add", res.Calls[0].Call 1, res.Calls[1].Call 2 and no error`, res.Calls, err)
	}
}

type slowFirst struct{ first chan struct{} }

func (u slowFirst) Call(_ context.Context, _, tool string, _ json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	if tool == "add" {
		<-u.first
	}
	return &upstream.CallResult{Structured: json.RawMessage(`{"result":1}`)}, nil
}

func TestServersOf(t *testing.T) {
	cfg := &config.Config{Servers: []config.Server{{Key: "crm", Parallel: 3, Timeout: time.Second, MaxTime: time.Minute, Trusted: true, Idempotent: []string{"put_*"}, ReadOnly: []string{"get"}}}}
	got := chain.ServersOf(cfg)["crm"]
	if got.Parallel != 3 || got.Timeout != time.Second || got.MaxTime != time.Minute || !got.Trusted || got.Idempotent[0] != "put_*" || got.ReadOnly[0] != "get" {
		t.Errorf("%+v", got)
	}
}

func TestBadRecording(t *testing.T) {
	_, err := run(t, nil, runner.Script{Calls: chain.Settings{Replay: strings.NewReader("hello")}}, func(*guest) sandbox.Exit {
		t.Error("the run began")
		return sandbox.Exit{}
	})
	if err == nil || !strings.Contains(err.Error(), "line 1: this is not a recording") {
		t.Error(err)
	}
}
