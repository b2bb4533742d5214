package runner_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func addCall(id int) object {
	return object{"type": "call", "id": id, "tool": "calculator__add", "args": object{"numbers": []int{1, 2}}}
}

// TestCallsInFlight checks that a run which times out names them and what they waited for.
func TestCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &fakeUpstreams{errs: map[string]error{"calculator/add": errHang}}
		r, err := runner.New(&runner.Options{Tree: "../servers", Upstreams: up, Servers: map[string]chain.ServerSettings{"calculator": {Parallel: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), runner.Script{Name: "s.py", Language: sandbox.LangPython, Timeout: 30 * time.Second, Backend: &fakeBackend{guest: func(g *guest) sandbox.Exit {
			g.begin()
			g.send(addCall(1))
			time.Sleep(time.Second)
			for id := 2; id < 5; id++ {
				g.send(addCall(id))
			}
			g.send(object{"type": "call", "id": 5, "tool": "calculator__nothing", "args": object{}})
			return g.killed()
		}}})
		if err != nil {
			t.Fatal(err)
		}
		want := "the script was stopped after 30s (--timeout); still in progress: calculator__add (waiting for its answer for 30s), calculator__add (waiting for a place in the queue for 29s) ×3; 1 call already reached a server;"
		if !strings.HasPrefix(res.Message, want) {
			t.Errorf("message %q\nwant    %q", res.Message, want)
		}
		text, err := json.Marshal(res.Calls[1])
		if err != nil || !strings.Contains(string(text), `"waitingFor":"a place in the queue","waitedMs":29000`) || !strings.Contains(string(text), `"outcome":"timeout"`) {
			t.Errorf("%s %v, want %q in it, %q in it and no error", text, err, `"waitingFor":"a place in the queue","waitedMs":29000`, `"outcome":"timeout"`)
		}
		if last := res.Calls[4]; last.WaitingFor != "" {
			t.Errorf(`a call that had ended: %+v, want WaitingFor ""`, last)
		}
	})
}

// TestInterruptedStart names the server that was being started when the run was interrupted.
func TestInterruptedStart(t *testing.T) {
	srv := config.Server{Key: "calculator", Transport: config.TransportStdio, Command: "sleep", Args: []string{"60"}, Dir: os.TempDir(), Protocol: config.ProtocolLegacy}
	pool := upstream.NewPool([]config.Server{srv}, &upstream.Options{Lookup: os.LookupEnv})
	defer pool.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	script := runner.Script{Name: "s.py", Language: sandbox.LangPython, Timeout: time.Minute, Watch: func(e chain.Event) {
		if e.Kind == chain.EventWaiting && e.Message == `server "calculator" to start` {
			cancel()
		}
	}, Backend: &fakeBackend{guest: func(g *guest) sandbox.Exit {
		g.begin()
		g.send(addCall(1))
		return g.killed()
	}}}
	res, err := newRunner(t, pool).Run(ctx, script)
	if err != nil {
		t.Fatal(err)
	}
	want := `; still in progress: calculator__add (waiting for server "calculator" to start for `
	if res.Cause != runner.CauseInterrupted || !strings.Contains(res.Message, want) || strings.Contains(res.Message, "already made") || res.Calls[0].WaitingFor != `server "calculator" to start` {
		t.Errorf("cause %q, message %q, calls %+v", res.Cause, res.Message, res.Calls)
	}
}

// starting is a server that takes a minute to start, each time.
type starting struct{}

func (starting) Call(ctx context.Context, _, _ string, _ json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	upstream.Waits(ctx, upstream.WaitStart)
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	upstream.Waits(ctx, upstream.WaitAnswer)
	return &upstream.CallResult{Structured: json.RawMessage(`{"result":3}`)}, nil
}

// TestServerStartHoldsTheClock, which may be an installation, the first time that a run needs a server.
func TestServerStartHoldsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var replies [2]map[string]json.RawMessage
		var said []string
		res, err := newRunner(t, starting{}).Run(t.Context(), runner.Script{
			Name: "s.py", Language: sandbox.LangPython, Timeout: 10 * time.Second,
			Watch: func(e chain.Event) {
				if e.Kind == chain.EventStarting {
					said = append(said, e.Message)
				}
			},
			Backend: &fakeBackend{guest: func(g *guest) sandbox.Exit {
				g.begin()
				replies[0] = g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
				replies[1] = g.call(2, "calculator__add", object{"numbers": []int{1, 2}})
				return g.killed()
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if replies[0]["value"] == nil || replies[1]["value"] != nil || res.Cause != runner.CauseTimeout || res.DurationMS < 70_000 || res.DurationMS > 72_000 {
			t.Errorf("replies %s, cause %q after %v ms; want only the first start not to count", replies, res.Cause, res.DurationMS)
		}
		if want := []string{`server "calculator" is starting`, "", `server "calculator" is starting`}; !slices.Equal(said[:3], want) {
			t.Errorf("events %q, want %q", said, want)
		}
	})
}
