package workflow

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// TestMain makes the test binary a process that runs a workflow, and may be killed. Examples run scripts in child processes of it.
func TestMain(m *testing.M) {
	script.Child()
	embedded.Child()
	if setup := os.Getenv("WORKFLOW_MORTAL"); setup != "" {
		p := &mortal{}
		if err := errors.Join(json.Unmarshal([]byte(setup), p), p.run()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

// mortal is a process that runs a workflow with the id w. Its log gets a line for each thing that happens.
type mortal struct {
	State, Log string
	KillAt     int64 // kills itself at this boundary; zero: never

	boundary atomic.Int64
	log      *os.File
}

// at is a boundary, where the process may die.
func (p *mortal) at() {
	if p.boundary.Add(1) == p.KillAt {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (p *mortal) note(format string, args ...any) { fmt.Fprintf(p.log, format+"\n", args...) }

// Call is a call that a server gets.
func (p *mortal) Call(_ context.Context, _, _ string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	p.at()
	p.note("call %s", args)
	p.at()
	return &upstream.CallResult{Raw: json.RawMessage(`{"structuredContent":{}}`), Structured: json.RawMessage(`{}`)}, nil
}

func openStore(ctx context.Context, state string) (store.Store, error) {
	if strings.Contains(state, "://") {
		return postgres.Open(ctx, state)
	}
	return sqlite.Open(ctx, state, sqlite.Options{})
}

func (p *mortal) run() error {
	ctx := context.Background()
	s, err := openStore(ctx, p.State)
	if err != nil {
		return err
	}
	defer s.Close()
	if p.log, err = os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	work, err := durable.Open(ctx, durable.Options{State: p.State, Store: s, Lease: 500 * time.Millisecond})
	if err != nil {
		return err
	}
	e, err := New(Options{Durable: work, State: s, Secret: make([]byte, 32), Run: p.part, Suspend: time.Millisecond})
	if err != nil {
		return err
	}
	if err := e.Launch(ctx); err != nil {
		return err
	}
	defer e.Close(ctx)
	if _, err := e.Start(ctx, &Program{Name: "mortal.ts", Language: sandbox.LangTypeScript}, Start{ID: "w", Input: json.RawMessage(`7`)}); err != nil && !errors.Is(err, durable.ErrExists) {
		return err
	}
	if _, err := e.Send(ctx, "w", "go", json.RawMessage(`"went"`)); err != nil && !errors.Is(err, durable.ErrEnded) { // only the first one is received
		return err
	}
	status, err := e.Wait(ctx, "w", 0)
	if err != nil {
		return err
	}
	p.note("end %s %s", status.State, status.Outcome.Result)
	return nil
}

// part runs a part in this process, without a sandbox.
func (p *mortal) part(ctx context.Context, part *Part) (*runner.Result, error) {
	server, _ := catalog.NewServer("crm", "", "", []json.RawMessage{json.RawMessage(`{"name": "send", "inputSchema": {"type": "object"}}`)})
	cat, err := catalog.New([]catalog.Server{server})
	if err != nil {
		return nil, err
	}
	s := runner.Script{}
	part.Apply(&s)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c, err := chain.New(chain.Options{Catalog: cat, Upstreams: p}).NewCalls(ctx, chain.Run{ID: "run-1", Settings: s.Calls, Suspend: func() { cancel(chain.ErrSuspended) }})
	if err != nil {
		return nil, err
	}
	x := &execution{p, ctx, c.Handler(), c.Answerer()}
	value := x.script(part.Number)
	if sum := c.Finish(); errors.Is(context.Cause(ctx), chain.ErrSuspended) {
		return &runner.Result{Cause: runner.CauseSuspended, Waits: sum.Waits}, nil
	}
	return &runner.Result{Cause: runner.CauseExit, Value: value}, nil
}

// execution is a script that runs.
type execution struct {
	*mortal
	ctx    context.Context
	call   call.Handler
	answer call.Answerer
}

func (x *execution) ask(method string, params string) map[string]json.RawMessage {
	x.at()
	raw, err := x.answer(x.ctx, &call.Ask{Method: method, Params: json.RawMessage(params)})
	if x.ctx.Err() != nil {
		return nil
	}
	if err != nil {
		x.note("failed %s %v", method, err)
	}
	var out map[string]json.RawMessage
	_ = json.Unmarshal(raw, &out)
	x.at()
	return out
}

func (x *execution) send(step, id int) {
	if x.ctx.Err() != nil {
		return
	}
	_, err := x.call(x.ctx, &call.Request{Tool: "crm__send", Args: json.RawMessage(fmt.Sprintf(`{"id":%d}`, id)), Step: step})
	_, unknown := errors.AsType[*call.UnknownError](err)
	switch {
	case x.ctx.Err() != nil:
	case unknown:
		x.note("unknown %d", id)
	case err != nil:
		x.note("failed send %v", err)
	}
}

func (x *execution) step(name string, number int, run func(step int)) {
	out := x.ask("workflow/step", fmt.Sprintf(`{"name":%q,"input":[1]}`, name))
	if x.ctx.Err() != nil || out["outcome"] != nil {
		return
	}
	var step int
	_ = json.Unmarshal(out["step"], &step)
	x.note("run %s#%d", name, number)
	run(step)
	x.ask("workflow/done", fmt.Sprintf(`{"step":%d,"value":["x"]}`, step))
	if x.ctx.Err() == nil {
		x.note("done %s#%d", name, number)
	}
}

// script makes equal calls in and outside of steps, waits, and has two steps at once.
func (x *execution) script(part int) json.RawMessage {
	x.note("part %d", part)
	for i := range 2 {
		x.step("copy", i, func(step int) { x.send(step, i) })
	}
	x.send(0, 9)
	x.ask("workflow/sleep", `{"time":"5ms"}`)
	x.step("look", 0, func(int) {})
	went := x.ask("workflow/wait", `{"topic":"go"}`)
	x.step("copy", 2, func(step int) { x.send(step, 0) })
	x.send(0, 9)
	var both sync.WaitGroup
	for _, name := range []string{"left", "right"} {
		both.Go(func() { x.step(name, 0, func(step int) { x.send(step, 20) }) })
	}
	both.Wait()
	return went["value"]
}

// TestKilled kills the process of a workflow at every boundary, before and after each step, call and wait, and continues it: no call is made
// twice, no finished step runs again, and every call is made or unknown.
func TestKilled(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		empty := emptyState(t)
		var next atomic.Int64
		var over atomic.Bool
		var all sync.WaitGroup
		for range 6 { // most of the time they wait
			all.Go(func() {
				for !over.Load() && !t.Failed() {
					at := next.Add(1)
					dir := t.TempDir()
					state := filepath.Join(dir, "state.db")
					if err := os.WriteFile(state, empty, 0o600); err != nil {
						t.Error(err)
					}
					if !killed(t, state, filepath.Join(dir, "log"), at) {
						over.Store(true)
					}
				}
			})
		}
		all.Wait()
		if n := next.Load(); n < 40 {
			t.Errorf("%d boundaries, want 40 at least", n)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		for at := int64(5); killed(t, pgtest.Database(t), filepath.Join(t.TempDir(), "log"), at); at += 9 {
		}
	})
}

// emptyState returns the file of a state with all tables, which take longer to make than a workflow to run.
func emptyState(t *testing.T) []byte {
	t.Helper()
	place := filepath.Join(t.TempDir(), "state.db")
	s, err := openStore(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	work, err := durable.Open(t.Context(), durable.Options{State: place, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(work.Close(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(place)
	if _, pending := os.Stat(place + "-wal"); err != nil || pending == nil {
		t.Fatalf("the state is not in its file: %v", err)
	}
	return file
}

// killed kills a process at a boundary, continues its workflow, and returns whether it was killed.
func killed(t *testing.T, state, log string, at int64) bool {
	t.Helper()
	died := runMortal(t, &mortal{State: state, Log: log, KillAt: at})
	if died && runMortal(t, &mortal{State: state, Log: log}) {
		t.Errorf("boundary %d: the process that continues has died", at)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Error(err)
		return false
	}
	count, done := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		what, rest, _ := strings.Cut(line, " ")
		switch count[line]++; {
		case what == "failed":
			t.Errorf("boundary %d: %s", at, line)
		case what == "run" && done[rest]:
			t.Errorf("boundary %d: %s ran after it had finished", at, rest)
		case what == "done":
			done[rest] = true
		}
	}
	if count[`end done "went"`] != 1 {
		t.Errorf("boundary %d: the log has no line: end done", at)
	}
	for id, want := range map[int]int{0: 2, 1: 1, 9: 2, 20: 2} {
		made, unknown := count[fmt.Sprintf(`call {"id":%d}`, id)], min(1, count[fmt.Sprint("unknown ", id)])
		if made > want || made+unknown < want {
			t.Errorf("boundary %d: %d calls of id %d, and %d unknown, want %d\n%s", at, made, id, unknown, want, text)
		}
	}
	return died
}

// runMortal runs a process, and returns whether it was killed.
func runMortal(t *testing.T, p *mortal) bool {
	t.Helper()
	setup, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WORKFLOW_MORTAL="+string(setup))
	var text strings.Builder
	cmd.Stderr = bufio.NewWriter(&text)
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return true
	}
	if err != nil {
		t.Errorf("a process that was not killed: %v\n%s", err, text.String())
	}
	return false
}
