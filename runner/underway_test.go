package runner_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func addCall(id int) object {
	return object{"type": "call", "id": id, "tool": "calculator__add", "args": object{"numbers": []int{1, 2}}}
}

// TestWhatWasUnderWay when a run's time was up is said, and what it waited for.
func TestWhatWasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &fakeUpstreams{errs: map[string]error{"calculator/add": errHang}}
		r, err := runner.New(&runner.Options{Tree: "../servers", Upstreams: up, Servers: map[string]runner.ServerSettings{"calculator": {Parallel: 1}}})
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
		want := "the script was stopped after 30s (--timeout); still under way: calculator__add (waiting for its answer for 30s), calculator__add (waiting for a place in the queue for 29s) ×3; 1 call that was already made,"
		if !strings.HasPrefix(res.Message, want) {
			t.Errorf("message %q\nwant    %q", res.Message, want)
		}
		text, err := json.Marshal(res.Calls[1])
		if err != nil || !strings.Contains(string(text), `"waitingFor":"a place in the queue","waitedMs":29000`) || !strings.Contains(string(text), `"outcome":"timeout"`) {
			t.Errorf("%s %v", text, err)
		}
		if last := res.Calls[4]; last.WaitingFor != "" {
			t.Errorf("a call that had ended: %+v", last)
		}
	})
}

// TestAServerThatDoesNotStart is named when the run's time is up or it is interrupted.
func TestAServerThatDoesNotStart(t *testing.T) {
	srv := config.Server{Key: "calculator", Transport: config.TransportStdio, Command: "sleep", Args: []string{"60"}, Dir: os.TempDir(), Protocol: config.ProtocolLegacy}
	for _, cause := range []runner.Cause{runner.CauseTimeout, runner.CauseInterrupted} {
		pool := upstream.NewPool([]config.Server{srv}, &upstream.Options{Lookup: os.LookupEnv})
		defer pool.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		script := runner.Script{Name: "s.py", Language: sandbox.LangPython, Timeout: 700 * time.Millisecond, Backend: &fakeBackend{guest: func(g *guest) sandbox.Exit {
			g.begin()
			g.send(addCall(1))
			if cause == runner.CauseInterrupted {
				time.AfterFunc(300*time.Millisecond, cancel)
			}
			return g.killed()
		}}}
		if cause == runner.CauseInterrupted {
			script.Timeout = time.Minute
		}
		res, err := newRunner(t, pool).Run(ctx, script)
		if err != nil {
			t.Fatal(err)
		}
		want := `; still under way: calculator__add (waiting for server "calculator" to start for `
		if res.Cause != cause || !strings.Contains(res.Message, want) || strings.Contains(res.Message, "already made") || res.Calls[0].WaitingFor != `server "calculator" to start` {
			t.Errorf("cause %q, message %q, calls %+v", res.Cause, res.Message, res.Calls)
		}
	}
}
